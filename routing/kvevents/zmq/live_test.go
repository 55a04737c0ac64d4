package zmq

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"penstock/routing/keys"
	"penstock/routing/kvevents"
)

// held is an Index that knows what the device holds.
type held map[uint64]bool

func (h held) Stored(k []uint64, _ kvevents.Tier) {
	for _, key := range k {
		h[key] = true
	}
}

func (h held) Removed(k []uint64, _ kvevents.Tier) {
	for _, key := range k {
		delete(h, key)
	}
}

func (h held) Cleared() { clear(h) }

func (h held) Restarted() { clear(h) }

// expected is what testdata/publisher.py leaves after count batches.
func expected(first uint32, count int) held {
	h := held{}
	root := keys.Namespace("", "", "")
	parent := root
	for i := range uint32(count) {
		tokens := []uint32{first + 4*i, first + 4*i + 1, first + 4*i + 2, first + 4*i + 3}
		if i%3 == 2 {
			delete(h, parent)
			parent = root
			continue
		}
		parent = keys.Chain(parent, tokens)
		h[parent] = true
	}
	return h
}

// watched passes everything on and says after each call where the publisher is.
type watched struct {
	Handler
	p     *kvevents.Publisher
	reach chan uint64
	until uint64
}

func (w *watched) check() {
	if next, ok := w.p.Next(); ok && next == w.until && w.p.Picture() == kvevents.Complete {
		w.until = 0
		w.reach <- next
	}
}

func (w *watched) Live(topic []byte, seq uint64, payload []byte) kvevents.Ask {
	defer w.check()
	return w.Handler.Live(topic, seq, payload)
}

func (w *watched) ReplayEnded(end kvevents.End) kvevents.Ask {
	defer w.check()
	return w.Handler.ReplayEnded(end)
}

// TestPublishersOfEnginesAreFollowed runs the publishers that engines have: 10,000
// batches, killed, another process. What is left must be what it holds, to the block.
func TestPublishersOfEnginesAreFollowed(t *testing.T) {
	if testing.Short() {
		t.Skip("starts engines' publishers")
	}
	cache := filepath.Join("..", "..", "..", ".cache")
	plain := filepath.Join(cache, "zmq", "venv", "bin", "python")
	source := filepath.Join(cache, "zmq", "sglang", "kv_events.py")
	f := func(kind, python, source string) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, need := range []string{python, source} {
				if _, err := os.Stat(need); need != "" && err != nil {
					t.Skipf("needs %s (see doc.go)", need)
				}
			}
			followPublisher(t, kind, python, source)
		})
	}
	f("plain", plain, "")
	f("sglang", plain, source)
	f("vllm", filepath.Join(cache, "e2e", "vllm", "bin", "python"), "")
}

func followPublisher(t *testing.T, kind, python, source string) {
	endpoint, replay := freePort(t), freePort(t)
	index := held{}
	p, err := kvevents.New(kvevents.Options{
		Rank: -1, Replay: true,
		Namespace: func(_, _ []byte) (uint64, bool) { return keys.Namespace("", "", ""), true },
	}, index)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(first uint32, count int) (kill func()) {
		command := exec.Command(python, "testdata/publisher.py", kind, "tcp://*:"+endpoint, "tcp://*:"+replay,
			fmt.Sprint(first), fmt.Sprint(count), source)
		command.Stderr = os.Stderr
		input, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		output, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		kill = func() {
			_ = command.Process.Kill()
			_ = command.Wait()
			_ = input.Close()
		}
		t.Cleanup(kill)
		if line, err := bufio.NewReader(output).ReadString('\n'); err != nil && err != io.EOF {
			t.Fatalf("publisher says %q, %v", line, err)
		}
		return kill
	}
	reached := func(w *watched, o Options, want held, then func()) {
		t.Helper()
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Run(ctx, w)
		}()
		stop := func() {
			cancel()
			<-done
		}
		defer stop()
		then()
		arrived := true
		select {
		case <-w.reach:
		case <-time.After(60 * time.Second):
			arrived = false
		}
		stop()
		if next, _ := p.Next(); !arrived {
			t.Fatalf("at %d, %v after a minute: %+v", next, p.Picture(), s.Stats())
		}
		if p.Picture() != kvevents.Complete || !maps.Equal(index, want) {
			t.Errorf("%v, %d blocks, want complete, %d", p.Picture(), len(index), len(want))
		}
		t.Logf("%+v, replays %d, restarts %d", s.Stats(), p.Count(kvevents.ReplaysAsked), p.Count(kvevents.Restarts))
	}
	o := Options{Endpoint: "tcp://127.0.0.1:" + endpoint, ReplayEndpoint: "tcp://127.0.0.1:" + replay}
	const count, later = 10_000, 500
	w := &watched{Handler: Follow(p), p: p, reach: make(chan uint64, 1), until: count}
	var kill func()
	reached(w, o, expected(0, count), func() { kill = begin(0, count) })
	// Another connection finds the same process.
	restarts := p.Count(kvevents.Restarts)
	w.until = count
	reached(w, o, expected(0, count), func() {})
	if got := p.Count(kvevents.Restarts); got != restarts {
		t.Errorf("restarts %d, want %d", got, restarts)
	}
	// An idle one answers pings.
	o.Idle = 5 * time.Millisecond
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	_ = s.Run(ctx, w)
	cancel()
	if got := s.Stats(); got.Connects != 1 || got.Failures != 0 {
		t.Errorf("idle: %+v", got)
	}
	kill()
	w.until = later
	reached(w, o, expected(7, later), func() { begin(7, later) })
	if got := p.Count(kvevents.Restarts); got != restarts+1 {
		t.Errorf("restarts %d, want %d", got, restarts+1)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}
