package relay

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Config sizes a Relay.
type Config struct {
	Loops int           // 0: one per processor
	Tick  time.Duration // how often limits are looked at; 0: 250ms
	// Buffer is how much is read from an engine at once, and so the most that
	// waits here for a client that does not read; 0: 64 KiB.
	Buffer int
	Now    func() time.Time
}

const (
	defaultBuffer = 64 << 10
	minBuffer     = 4 << 10
)

// Relay runs streams. It is safe for concurrent use.
type Relay struct {
	cfg      Config
	loops    []*loop
	next     atomic.Uint32
	blocking sync.WaitGroup // calls of Start
	active   atomic.Int64

	mu     sync.Mutex // guards closed and cut
	closed bool
	cut    map[*Stream]struct{} // blocking streams, to be cut at Close
}

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("relay: closed")

// New starts the loops.
func New(cfg Config) (*Relay, error) {
	if cfg.Loops <= 0 {
		cfg.Loops = runtime.GOMAXPROCS(0)
	}
	if cfg.Tick <= 0 {
		cfg.Tick = 250 * time.Millisecond
	}
	if cfg.Buffer <= 0 {
		cfg.Buffer = defaultBuffer
	}
	cfg.Buffer = max(cfg.Buffer, minBuffer)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Relay{cfg: cfg, cut: map[*Stream]struct{}{}}
	loops, err := startLoops(r)
	if err != nil {
		return nil, err
	}
	r.loops = loops
	return r, nil
}

// Active is the number of streams being relayed.
func (r *Relay) Active() int64 { return r.active.Load() }

// Start takes over the stream. It returns soon when the stream can run on a
// loop, and at the stream's end when it cannot: call it on a goroutine that may
// be kept.
func (r *Relay) Start(s *Stream) error {
	s.lastProgress = r.cfg.Now()
	s.lastWrite = s.lastProgress
	done := s.Done
	s.Done = func(s *Stream, res Result) {
		r.active.Add(-1)
		done(s, res)
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	r.active.Add(1)
	r.blocking.Add(1)
	r.mu.Unlock()
	defer r.blocking.Done()
	if len(r.loops) > 0 && onLoop(s) && s.takeDescriptors() == nil {
		r.loops[int(r.next.Add(1))%len(r.loops)].start(s)
		return nil
	}
	r.mu.Lock()
	r.cut[s] = struct{}{}
	if r.closed {
		_ = s.Upstream.Close()
	}
	r.mu.Unlock()
	s.waker.Store(&wakeBlocking)
	s.runBlocking(r.cfg.Now)
	r.mu.Lock()
	delete(r.cut, s)
	r.mu.Unlock()
	return nil
}

// wakeBlocking sets a deadline in the past, which wakes the reader and leaves
// the descriptor to its owner.
var wakeBlocking = func(s *Stream) { _ = s.Upstream.SetReadDeadline(time.Unix(1, 0)) }

// Close cuts what still runs, tells those clients so, and waits for it.
func (r *Relay) Close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	for s := range r.cut {
		_ = s.Upstream.Close()
		_ = s.Client.SetWriteDeadline(r.cfg.Now().Add(time.Second))
	}
	r.mu.Unlock()
	for _, l := range r.loops {
		l.close()
	}
	r.blocking.Wait()
}
