package keying

import (
	"slices"
	"time"
)

// breaker keeps questions from engines that fail to answer. One prompt alone does not
// open it, however often it fails: that may be the prompt's fault.
type breaker struct {
	failing []fingerprint // different ones since an engine last answered
	trips   int           // in a row
	until   time.Time
}

// Bounds of the breaker.
const (
	failuresToPause = 5
	firstPause      = 5 * time.Second
	longestPause    = 5 * time.Minute
)

func (b *breaker) open(now time.Time) bool { return now.Before(b.until) }

func (b *breaker) note(of fingerprint, ok bool, now time.Time) {
	if ok {
		b.failing, b.trips = b.failing[:0], 0
		return
	}
	if slices.Contains(b.failing, of) {
		return
	}
	if b.failing = append(b.failing, of); len(b.failing) < failuresToPause {
		return
	}
	b.failing = b.failing[:0]
	b.pause(now.Add(min(firstPause<<min(b.trips, 10), longestPause)))
	b.trips++
}

func (b *breaker) pause(until time.Time) {
	if until.After(b.until) {
		b.until = until
	}
}
