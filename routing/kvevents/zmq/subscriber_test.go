package zmq

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"penstock/routing/kvevents"
)

func TestBatchesArriveAndBrokenConnectionsAreMadeAgain(t *testing.T) {
	t.Parallel()
	endpoint := listen(t, func(n int, p fakePeer) {
		if !p.publisher() {
			return
		}
		p.publish(uint64(n), "a")
		p.publish(uint64(n+1), strings.Repeat("b", 300)) // a long frame
		if n == 1 {
			p.wait()
		}
	})
	h := newHeard()
	s := start(t, Options{Endpoint: endpoint}, h)
	h.want(t, "connected", "topic 0 a", "topic 1 "+strings.Repeat("b", 300),
		"connected", "topic 1 a", "topic 2 "+strings.Repeat("b", 300))
	if got := s.Stats(); got.Connects != 2 || got.Failures != 1 || got.Messages != 4 {
		t.Errorf("stats %+v", got)
	}
	if !s.Connected() {
		t.Error("not connected")
	}
}

// replayer answers requests from a list of batches, in one of the two layouts.
func replayer(topic bool, script func(n int, from uint64, send func(seq uint64, payload string), end func())) func(int, fakePeer) {
	return func(n int, p fakePeer) {
		var m message
		if p.handshake("ROUTER", "DEALER") != nil || p.read(&m) != nil || len(m.ends) != 2 || len(m.part(0)) != 0 {
			p.t.Errorf("no request: %q", m.data)
			return
		}
		answer := func(name string, seq uint64, payload string) {
			b := frame(nil, flagMore, nil)
			if topic {
				b = frame(b, flagMore, []byte(name))
			}
			b = frame(b, flagMore, binary.BigEndian.AppendUint64(nil, seq))
			_ = p.write(frame(b, 0, []byte(payload)))
		}
		script(n, binary.BigEndian.Uint64(m.part(1)), func(seq uint64, payload string) {
			answer("topic", seq, payload)
		}, func() { answer("", math.MaxUint64, "") })
	}
}

func TestReplaysComeInBothLayouts(t *testing.T) {
	t.Parallel()
	for _, topic := range []bool{false, true} {
		t.Run(fmt.Sprint("topic=", topic), func(t *testing.T) {
			t.Parallel()
			replays := listen(t, replayer(topic, func(n int, from uint64, send func(uint64, string), end func()) {
				send(from, "old")
				send(from+1, "older")
				if n > 0 { // the first is cut
					end()
				}
			}))
			endpoint := listen(t, func(_ int, p fakePeer) {
				if p.publisher() {
					p.publish(5, "new")
					p.wait()
				}
			})
			h := newHeard()
			h.asks["topic 5 new"] = kvevents.Ask{Wanted: true, From: 3, Attempt: 1}
			h.asks["cut"] = kvevents.Ask{Wanted: true, From: 4, Attempt: 2}
			s := start(t, Options{Endpoint: endpoint, ReplayEndpoint: replays}, h)
			h.want(t, "connected", "topic 5 new", "replayed 3 old", "replayed 4 older", "cut",
				"replayed 4 old", "replayed 5 older", "whole")
			if got := s.Stats(); got.Replays != 1 || got.Cuts != 1 {
				t.Errorf("stats %+v", got)
			}
		})
	}
}

func TestReplayThatPausesIsCut(t *testing.T) {
	t.Parallel()
	replays := listen(t, func(_ int, p fakePeer) {
		replayer(true, func(_ int, from uint64, send func(uint64, string), _ func()) { send(from, "old") })(0, p)
		p.wait()
	})
	endpoint := listen(t, func(_ int, p fakePeer) {
		if p.publisher() {
			p.wait()
		}
	})
	h := newHeard()
	h.asks["connected"] = kvevents.Ask{Wanted: true, From: 0, Attempt: 1}
	start(t, Options{Endpoint: endpoint, ReplayEndpoint: replays, ReplayIdle: 50 * time.Millisecond}, h)
	h.want(t, "connected", "replayed 0 old", "cut")
}

func TestReplayWithoutEndpointIsCut(t *testing.T) {
	t.Parallel()
	endpoint := listen(t, func(_ int, p fakePeer) {
		if p.publisher() {
			p.wait()
		}
	})
	h := newHeard()
	h.asks["connected"] = kvevents.Ask{Wanted: true, From: 0, Attempt: 1}
	start(t, Options{Endpoint: endpoint}, h)
	h.want(t, "connected", "cut")
}

// A peer that is there for TCP only must be noticed.
func TestHalfOpenConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	pinged := make(chan struct{}, 10)
	endpoint := listen(t, func(n int, p fakePeer) {
		if !p.publisher() {
			return
		}
		if n == 0 {
			flags, size, err := p.head() // the ping, which stays unanswered
			if err == nil && flags == flagCommand {
				_, _ = io.CopyN(io.Discard, p.reader, int64(size))
				pinged <- struct{}{}
			}
			_, _ = io.Copy(io.Discard, p.reader)
			return
		}
		p.publish(7, "again")
		p.wait()
	})
	h := newHeard()
	start(t, Options{Endpoint: endpoint, Idle: 20 * time.Millisecond, Silence: 20 * time.Millisecond}, h)
	h.want(t, "connected", "connected", "topic 7 again")
	<-pinged
}

func TestSilentPeerThatAnswersPingsIsKept(t *testing.T) {
	t.Parallel()
	const pings = 5
	endpoint := listen(t, func(n int, p fakePeer) {
		if !p.publisher() {
			return
		}
		if n > 0 {
			p.t.Error("the connection was given up")
		}
		for range pings {
			flags, size, err := p.head()
			if err != nil || flags != flagCommand {
				return
			}
			body := make([]byte, size)
			_, _ = io.ReadFull(p.reader, body)
			_ = p.write(frame(nil, flagCommand, []byte("\x04PONG")))
		}
		p.publish(1, "x")
		p.wait()
	})
	h := newHeard()
	start(t, Options{Endpoint: endpoint, Idle: 10 * time.Millisecond, Silence: 10 * time.Second}, h)
	h.want(t, "connected", "topic 1 x")
}

func TestPingsAreAnswered(t *testing.T) {
	t.Parallel()
	endpoint := listen(t, func(_ int, p fakePeer) {
		if !p.publisher() {
			return
		}
		_ = p.write(frame(nil, flagCommand, []byte("\x04PING\x00\x0acontext")))
		_, size, err := p.head()
		body := make([]byte, size)
		if _, err2 := io.ReadFull(p.reader, body); err != nil || err2 != nil || string(body) != "\x04PONGcontext" {
			p.t.Errorf("the answer is %q", body)
		}
		p.publish(1, "x")
		p.wait()
	})
	h := newHeard()
	start(t, Options{Endpoint: endpoint}, h)
	h.want(t, "connected", "topic 1 x")
}

// What a peer sends that is not ZMTP, or beyond the limits, ends the connection and
// costs no memory; the next is tried.
func TestGarbageEndsTheConnection(t *testing.T) {
	t.Parallel()
	huge := binary.BigEndian.AppendUint64([]byte{flagLong}, 1<<62)
	scripts := map[string]func(p fakePeer){
		"http":         func(p fakePeer) { _ = p.write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
		"old version":  func(p fakePeer) { _ = p.write([]byte("\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x01")) },
		"mechanism":    func(p fakePeer) { g := greeting(); copy(g[mechanismAt:], "CURVE"); _ = p.write(g) },
		"other socket": func(p fakePeer) { _ = p.handshake("PUSH", "SUB") },
		"error": func(p fakePeer) {
			_ = p.write(append(greeting(), frame(nil, flagCommand, []byte("\x05ERROR\x02no"))...))
		},
		"cut":           func(p fakePeer) { _ = p.write(greeting()[:30]) },
		"flags":         func(p fakePeer) { p.publisher(); _ = p.write([]byte{0x80, 0}) },
		"huge frame":    func(p fakePeer) { p.publisher(); _ = p.write(huge) },
		"huge command":  func(p fakePeer) { p.publisher(); _ = p.write(append([]byte{flagLong | flagCommand}, huge[1:]...)) },
		"large message": func(p fakePeer) { p.publisher(); p.publish(1, strings.Repeat("x", 5000)) },
		"many parts":    func(p fakePeer) { p.publisher(); _ = p.write(bytes.Repeat([]byte{flagMore, 0}, 100)) },
		"late error":    func(p fakePeer) { p.publisher(); _ = p.write(frame(nil, flagCommand, []byte("\x05ERROR\x02no"))) },
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := listen(t, func(n int, p fakePeer) {
				if n == 0 {
					script(p)
					_, _ = io.Copy(io.Discard, p.conn)
					return
				}
				if p.publisher() {
					p.publish(1, "x")
					p.wait()
				}
			})
			var errs []string
			h := newHeard()
			s := start(t, Options{Endpoint: endpoint, MaxMessage: 4096, ConnectTimeout: time.Second, Report: func(err error) {
				errs = append(errs, err.Error())
			}}, h)
			for line := ""; line != "topic 1 x"; {
				line = <-h.lines
			}
			if got := s.Stats(); got.Failures == 0 {
				t.Errorf("stats %+v", got)
			}
			if len(errs) == 0 || !strings.Contains(errs[0], endpoint) {
				t.Errorf("errors %q", errs)
			}
		})
	}
}

// Messages that are well formed but no batches are passed over.
func TestOtherMessagesAreCounted(t *testing.T) {
	t.Parallel()
	endpoint := listen(t, func(_ int, p fakePeer) {
		if !p.publisher() {
			return
		}
		_ = p.write(frame(nil, 0, []byte("one part")))
		_ = p.write(frame(frame(frame(nil, flagMore, nil), flagMore, []byte("short")), 0, nil))
		p.publish(1, "x")
		p.wait()
	})
	h := newHeard()
	s := start(t, Options{Endpoint: endpoint}, h)
	h.want(t, "connected", "topic 1 x")
	if got := s.Stats().Malformed; got != 2 {
		t.Errorf("malformed %d, want 2", got)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	f := func(o Options, want string) {
		t.Helper()
		_, err := New(o)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("New(%+v): %v, want %q", o, err, want)
		}
	}
	f(Options{Endpoint: "tcp://h:1"}, "")
	f(Options{Endpoint: "tcp://[::1]:1", ReplayEndpoint: "ipc://@x"}, "")
	f(Options{Endpoint: "tcp://*:5557"}, "names no host")
	f(Options{Endpoint: "tcp://h"}, "cannot use")
	f(Options{Endpoint: "udp://h:1"}, "want tcp://")
	f(Options{Endpoint: "ipc://"}, "want tcp://")
	f(Options{Endpoint: "tcp://h:1", ReplayEndpoint: "x"}, "cannot use")
	f(Options{Endpoint: "tcp://h:1", Idle: -1}, "negative")
}

// slow holds up Run until it is told to go on.
type slow struct {
	*heard
	gate chan struct{}
}

func (s slow) Live(topic []byte, seq uint64, payload []byte) kvevents.Ask {
	<-s.gate
	return s.heard.Live(topic, seq, payload)
}

// A slow handler holds the publisher's socket up and not our memory: what it sends waits
// in the sockets, and arrives whole.
func TestSlowHandlerSlowsThePublisher(t *testing.T) {
	t.Parallel()
	const batches, size = 60, 512 << 10
	sent := make(chan int, batches)
	endpoint := listen(t, func(_ int, p fakePeer) {
		if !p.publisher() {
			return
		}
		for i := range batches {
			p.publish(uint64(i), strings.Repeat("x", size))
			sent <- i
		}
		p.wait()
	})
	h := slow{newHeard(), make(chan struct{})}
	start(t, Options{Endpoint: endpoint}, h)
	h.want(t, "connected")
	// The publisher comes to a halt while nothing is taken.
	for halted := false; !halted; {
		select {
		case <-sent:
		case <-time.After(200 * time.Millisecond):
			halted = true
		}
	}
	close(h.gate)
	for i := range batches {
		line := <-h.lines
		if want := "topic " + string('0'+rune(i)) + " "; !strings.HasPrefix(line, want) || len(line) < size {
			t.Fatalf("heard %.20q, want %q", line, want)
		}
	}
}
