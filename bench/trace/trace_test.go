package trace

import (
	"math"
	"reflect"
	"testing"
	"time"
)

func numbered(n int, step time.Duration) *Trace {
	t := &Trace{BlockTokens: 4}
	for i := range n {
		t.Requests = append(t.Requests, Request{At: time.Duration(i) * step, Input: i + 1})
	}
	return t
}

func TestSpreadIsSeededAndBounded(t *testing.T) {
	t.Parallel()
	a, b, c := numbered(200, 0), numbered(200, 0), numbered(200, 0)
	a.Spread(3*time.Second, 1)
	b.Spread(3*time.Second, 1)
	c.Spread(3*time.Second, 2)
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, c) {
		t.Fatal("the seed does not decide the spread")
	}
	if a.Duration() >= 3*time.Second || a.Duration() < 2*time.Second {
		t.Fatalf("spread to %s, want just under 3s", a.Duration())
	}
	a.Spread(0, 1) // no window, no change
	if !reflect.DeepEqual(a, b) {
		t.Fatal("a window of zero changed the trace")
	}
}

func TestClockChanges(t *testing.T) {
	t.Parallel()
	tr := numbered(11, time.Second)
	tr.SpeedUp(2)
	if tr.Duration() != 5*time.Second {
		t.Fatalf("sped up to %s, want 5s", tr.Duration())
	}
	tr.Repeat(22)
	if len(tr.Requests) != 22 || tr.Requests[11].At <= tr.Requests[10].At || tr.Requests[11].Input != 1 {
		t.Fatalf("request 11 of the repeated trace is %+v", tr.Requests[11])
	}
	tr.Cut(5 * time.Second)
	if len(tr.Requests) != 10 {
		t.Fatalf("%d requests are left before 5s, want 10", len(tr.Requests))
	}
}

func TestPoissonKeepsRate(t *testing.T) {
	t.Parallel()
	tr := numbered(20000, 0)
	tr.Poisson(50, 7)
	got := float64(len(tr.Requests)) / tr.Duration().Seconds()
	if math.Abs(got-50) > 2 {
		t.Fatalf("rate %.1f, want about 50", got)
	}
}

func TestEmptyTrace(t *testing.T) {
	t.Parallel()
	tr := &Trace{}
	tr.Repeat(5)
	tr.Cut(time.Second)
	tr.Spread(time.Second, 1)
	if tr.Duration() != 0 || len(tr.Requests) != 0 {
		t.Fatalf("got %+v", tr)
	}
}

func TestDemoMix(t *testing.T) {
	t.Parallel()
	a, b := Demo(time.Minute, 1).Generate(), Demo(time.Minute, 1).Generate()
	if !reflect.DeepEqual(a, b) {
		t.Fatal("equal seeds gave different traces")
	}
	last := map[string]*Request{}
	turns, tokens := 0, 0
	for i := range a.Requests {
		q := &a.Requests[i]
		tokens += q.Input
		if p := last[q.Session]; p != nil {
			turns++
			if n := len(p.Messages); len(q.Messages) != n+2 || !reflect.DeepEqual(q.Messages[:n], p.Messages) {
				t.Fatalf("turn %d of %s does not continue the one before", len(q.Messages)/2, q.Session)
			}
		}
		last[q.Session] = q
	}
	n := len(a.Requests)
	t.Logf("%d requests, %d sessions, %.1f/s, %d tokens each", n, len(last), float64(n)/a.Duration().Seconds(), tokens/n)
	if turns < n/2 {
		t.Fatalf("only %d of %d requests continue a session", turns, n)
	}
}
