package zmq

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"penstock/routing/kvevents"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakePeer is the other end of one connection, scripted by a test.
type fakePeer struct {
	*wire
	t *testing.T
}

// listen serves connections with a script, one after the other, and gives the endpoint.
func listen(t *testing.T, script func(n int, p fakePeer)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer conn.Close()
				p := fakePeer{newWire(conn, limits{
					message: 1 << 20, parts: 8, handshake: 5 * time.Second, idle: time.Minute, silence: time.Minute,
				}), t}
				script(n, p)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		group.Wait()
	})
	return "tcp://" + listener.Addr().String()
}

// publisher does a PUB socket's handshake and takes the subscription.
func (p fakePeer) publisher() bool {
	var m message
	return p.handshake("PUB", "SUB") == nil && p.read(&m) == nil && m.part(0)[0] == 1
}

// publish sends one batch.
func (p fakePeer) publish(seq uint64, payload string) {
	b := frame(nil, flagMore, []byte("topic"))
	b = frame(b, flagMore, binary.BigEndian.AppendUint64(nil, seq))
	_ = p.write(frame(b, 0, []byte(payload)))
}

// wait until the other end hangs up.
func (p fakePeer) wait() {
	var m message
	for p.read(&m) == nil {
	}
}

// heard is what a Handler was told, in order.
type heard struct {
	lines chan string
	asks  map[string]kvevents.Ask // by line
}

func newHeard() *heard {
	return &heard{lines: make(chan string, 1000), asks: map[string]kvevents.Ask{}}
}

func (h *heard) note(line string) kvevents.Ask {
	h.lines <- line
	return h.asks[line]
}

func (h *heard) Connected() kvevents.Ask { return h.note("connected") }

func (h *heard) Live(topic []byte, seq uint64, payload []byte) kvevents.Ask {
	return h.note(string(topic) + " " + string('0'+rune(seq)) + " " + string(payload))
}

func (h *heard) Replayed(seq uint64, payload []byte) {
	h.note("replayed " + string('0'+rune(seq)) + " " + string(payload))
}

func (h *heard) ReplayEnded(end kvevents.End) kvevents.Ask {
	if end == kvevents.Whole {
		return h.note("whole")
	}
	return h.note("cut")
}

// want waits for lines in order.
func (h *heard) want(t *testing.T, lines ...string) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for _, line := range lines {
		select {
		case got := <-h.lines:
			if got != line {
				t.Fatalf("heard %q, want %q", got, line)
			}
		case <-timeout:
			t.Fatalf("nothing heard, want %q", line)
		}
	}
}

// start runs a Subscriber until the test ends. Waits are short.
func start(t *testing.T, o Options, h Handler) *Subscriber {
	t.Helper()
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.BackoffMin, time.Millisecond)
	set(&o.BackoffMax, 20*time.Millisecond)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, h) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("Run does not return")
		}
	})
	return s
}
