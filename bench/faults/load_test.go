//go:build linux

package faults

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// load is clients that ask on and on: streams and answers in one piece, on new
// connections and on kept ones.
type load struct {
	t       *testing.T
	address string
	stop    context.CancelFunc
	workers sync.WaitGroup
	asked   atomic.Int64
	failed  atomic.Int64
}

// startLoad runs clients until finish.
func startLoad(t *testing.T, address string, clients int) *load {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	l := &load{t: t, address: address, stop: stop}
	t.Cleanup(stop)
	for i := range clients {
		l.workers.Go(func() { l.run(ctx, i%2 == 0) })
	}
	return l
}

func (l *load) run(ctx context.Context, keep bool) {
	var kept *Client
	defer func() {
		if kept != nil {
			_ = kept.Close()
		}
	}()
	for i := 0; ctx.Err() == nil; i++ {
		q := Chat{Tokens: 5, Stream: i%3 > 0}
		l.asked.Add(1)
		a, err := l.once(&kept, &q)
		if err != nil || !a.Complete() {
			l.failed.Add(1)
			l.t.Errorf("request %d (kept %t): %v, %v", i, keep, a, err)
			return
		}
		if !keep || a.Close {
			_ = kept.Close()
			kept = nil
		}
	}
}

// once asks over the kept connection or a new one. A kept one may have been
// closed since; every HTTP client then asks again over a new one, provided that
// not a byte of an answer came.
func (l *load) once(kept **Client, q *Chat) (*Answer, error) {
	if *kept != nil {
		a, err := (*kept).Do(q.Raw())
		if err == nil || !closedByPeer(err) {
			return a, err
		}
		_ = (*kept).Close()
		*kept = nil
	}
	c, err := Dial(context.Background(), l.address)
	if err != nil {
		return nil, err
	}
	*kept = c
	return c.Do(q.Raw())
}

// finish ends the load and checks that nothing failed.
func (l *load) finish() {
	l.t.Helper()
	l.stop()
	l.workers.Wait()
	if l.failed.Load() > 0 || l.asked.Load() == 0 {
		l.t.Errorf("%d of %d requests failed", l.failed.Load(), l.asked.Load())
	}
}

// passes waits until n more requests were asked.
func (l *load) passes(n int64) {
	l.t.Helper()
	from := l.asked.Load()
	if err := poll(Patience, func() bool { return l.asked.Load() >= from+n || l.failed.Load() > 0 }); err != nil {
		l.t.Fatalf("the load stands still: %v", err)
	}
}
