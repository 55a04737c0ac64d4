package watch

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// aLongTimeAgo is a deadline that ends a pending read at once.
var aLongTimeAgo = time.Unix(1, 0)

// reader finds a lost client with a read of one byte in the background, for
// systems without epoll. A byte that arrives is kept for the next Read.
type reader struct {
	conn net.Conn

	// mu guards the fields below.
	mu       sync.Mutex
	deadline time.Time     // what the server asked for, applied when no background read runs
	done     chan struct{} // closed when the running background read has ended; nil when none runs
	held     [1]byte
	holds    bool
	err      error // what ended the stream
}

// start begins the background read. onEnd is called with the error that ended
// the stream, before stop returns if it is called at all.
func (r *reader) start(onEnd func(error)) {
	r.mu.Lock()
	err, free := r.err, !r.holds && r.done == nil && r.err == nil
	if free {
		r.done = make(chan struct{})
		_ = r.conn.SetReadDeadline(time.Time{})
		go r.run(r.done, onEnd)
	}
	r.mu.Unlock()
	if err != nil {
		onEnd(err)
	}
}

func (r *reader) run(done chan struct{}, onEnd func(error)) {
	defer close(done)
	var one [1]byte
	n, err := r.conn.Read(one[:])
	r.mu.Lock()
	if n == 1 {
		r.held, r.holds = one, true
	}
	aborted := errors.Is(err, os.ErrDeadlineExceeded)
	if err != nil && !aborted {
		r.err = err
	}
	r.mu.Unlock()
	if err != nil && !aborted {
		onEnd(err)
	}
}

// stop ends the background read and waits for it.
func (r *reader) stop() {
	r.mu.Lock()
	done := r.done
	if done == nil {
		r.mu.Unlock()
		return
	}
	_ = r.conn.SetReadDeadline(aLongTimeAgo)
	r.mu.Unlock()
	<-done
	r.mu.Lock()
	r.done = nil
	_ = r.conn.SetReadDeadline(r.deadline)
	r.mu.Unlock()
}

// Read gives out the byte that the background read took, then reads on.
func (r *reader) Read(p []byte) (int, error) {
	r.stop()
	r.mu.Lock()
	if r.holds && len(p) > 0 {
		p[0], r.holds = r.held[0], false
		r.mu.Unlock()
		return 1, nil
	}
	err := r.err
	r.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return r.conn.Read(p)
}

// SetReadDeadline keeps the deadline until the background read is over.
func (r *reader) SetReadDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadline = t
	if r.done != nil {
		return nil
	}
	return r.conn.SetReadDeadline(t)
}
