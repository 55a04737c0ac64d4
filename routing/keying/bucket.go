package keying

import "time"

// bucket lets through some units a second, and a burst of them after quiet time.
type bucket struct {
	rate, burst float64
	left        float64
	at          time.Time // when left was worked out; zero: it is full
}

// has works out what is left and reports whether n units are.
func (b *bucket) has(n float64, now time.Time) bool {
	if b.at.IsZero() {
		b.left = b.burst
	} else if since := now.Sub(b.at).Seconds(); since > 0 {
		b.left = min(b.burst, b.left+since*b.rate)
	}
	b.at = now
	return b.left >= n
}

// sketch remembers which fingerprints have been seen lately. It forgets one when
// another falls on its place, which only means that a prompt must come once more.
type sketch []uint64

const sketchPlaces = 1 << 12

// again reports whether a fingerprint was seen before, and remembers it.
func (s *sketch) again(of fingerprint) bool {
	if *s == nil {
		*s = make(sketch, sketchPlaces)
	}
	at := (uint(of[0])<<8 | uint(of[1])) % sketchPlaces
	var tag uint64
	for _, b := range of[8:] {
		tag = tag<<8 | uint64(b)
	}
	was := (*s)[at] == tag
	(*s)[at] = tag
	return was
}
