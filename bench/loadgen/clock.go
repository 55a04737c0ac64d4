package loadgen

import (
	"context"
	"runtime"
	"time"
)

// clock is the time as the run sees it; tests replace it.
type clock struct {
	now  func() time.Time
	wait func(ctx context.Context, until time.Time) error
}

// spinWindow is how long before a slot the wait stops sleeping. Timers wake up
// 0.6 to 0.8 ms late on an idle machine, which would be added to every latency.
const spinWindow = time.Millisecond

func systemClock() clock { return clock{now: time.Now, wait: sleepThenSpin} }

func sleepThenSpin(ctx context.Context, until time.Time) error {
	if d := time.Until(until) - spinWindow; d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	alone := runtime.GOMAXPROCS(0) == 1
	for time.Now().Before(until) {
		if alone {
			runtime.Gosched() // otherwise no stream is read while this spins
		}
	}
	return ctx.Err()
}
