package routing

import (
	"sync"
	"testing"
	"time"

	"penstock/configs"
	"penstock/pools"
)

func TestRetryRule(t *testing.T) {
	t.Parallel()
	f := func(name string, change func(*Attempt), want RetryDecision) {
		t.Helper()
		a := Attempt{BodyInMemory: true, DeadlineLeft: time.Minute, AttemptsMade: 1, MaxAttempts: 3, OthersLeft: 2}
		change(&a)
		if got := DecideRetry(&a); got != want {
			t.Errorf("%s: got %+v (%v), want %+v (%v)", name, got, got.Why, want, want.Why)
		}
	}
	yes := func(why RetryReason) RetryDecision { return RetryDecision{Retry: true, Why: why} }
	no := func(why RetryReason) RetryDecision { return RetryDecision{Why: why} }

	f("nothing failed", func(a *Attempt) { a.Status = 200 }, no(RetryNone))
	f("an engine's 500 is an answer", func(a *Attempt) { a.Status = 500 }, no(RetryNone))
	f("connect refused", func(a *Attempt) { a.ConnectFailed = true }, yes(RetryConnect))
	f("dead kept connection", func(a *Attempt) { a.Died, a.Reused = true, true },
		RetryDecision{Retry: true, SameReplicaFresh: true, Why: RetryReused})
	f("dead kept connection with no other replica", func(a *Attempt) { a.Died, a.Reused, a.OthersLeft = true, true, 0 },
		RetryDecision{Retry: true, SameReplicaFresh: true, Why: RetryReused})
	f("the replay died too", func(a *Attempt) { a.Died, a.Reused, a.Replays = true, true, 1 }, yes(RetryDied))
	f("new connection died", func(a *Attempt) { a.Died = true }, yes(RetryDied))
	f("two replicas died under it", func(a *Attempt) { a.Died, a.AttemptsMade = true, 2 }, no(RefuseSuspect))
	f("silent", func(a *Attempt) { a.TimedOut = true }, yes(RetryTimedOut))
	f("503", func(a *Attempt) { a.Status = 503 }, yes(RetryStatus))
	f("429", func(a *Attempt) { a.Status = 429 }, yes(RetryStatus))
	f("429 not listed", func(a *Attempt) { a.Status, a.OnStatus = 429, []int{503} }, no(RetryNone))
	f("503 with no other", func(a *Attempt) { a.Status, a.OthersLeft = 503, 0 }, no(RefuseNoOther))
	f("byte seen", func(a *Attempt) { a.Died, a.Reused, a.ResponseByteSeen = true, true, true }, no(RefuseByteSeen))
	f("client gone", func(a *Attempt) { a.ConnectFailed, a.ClientGone = true, true }, no(RefuseClientGone))
	f("body gone", func(a *Attempt) { a.ConnectFailed, a.BodyInMemory = true, false }, no(RefuseBodyGone))
	f("deadline", func(a *Attempt) { a.TimedOut, a.DeadlineLeft = true, 0 }, no(RefuseDeadline))
	f("attempts", func(a *Attempt) { a.ConnectFailed, a.AttemptsMade = true, 3 }, no(RefuseAttempts))
	f("retries off", func(a *Attempt) { a.ConnectFailed, a.MaxAttempts = true, 1 }, no(RefuseAttempts))
}

func TestRetryBudgetHolds(t *testing.T) {
	t.Parallel()
	b := NewRetryBudget(20, 3)
	for i := range 3 {
		if !b.Take(0) {
			t.Fatalf("take %d of the minimum was refused", i)
		}
	}
	if b.Take(15) {
		t.Error("a fourth was given with 15 in flight")
	}
	if !b.Take(20) {
		t.Error("a fourth was refused with 20 in flight")
	}
	for range 4 {
		b.Done()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := 0
	for range 50 {
		wg.Go(func() {
			if b.Take(100) {
				mu.Lock()
				got++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if got != 20 || b.InUse() != 20 {
		t.Errorf("%d given, %d in use; want 20", got, b.InUse())
	}
}

func TestRetryBudgetIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewRetryBudget(0, 0).Done()
}

// A fleet in full outage must not be sent much more than its clients send:
// neither when it refuses everything nor when nothing listens any more.
func TestRetriesStayFewInAFullOutage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempt Attempt
		outcome pools.Outcome
	}{
		"all busy": {Attempt{Status: 503}, pools.OutcomeBackpressure},
		"all gone": {Attempt{ConnectFailed: true}, pools.OutcomeFailed},
	} {
		b := newBench(t, configs.PolicyLeastLoad, replicas(equal(4)...))
		budget := NewRetryBudget(20, 3)
		attempts := 0
		const requests = 500
		for range requests {
			b.at = b.at.Add(10 * time.Millisecond)
			attempts += b.tryAll(c.attempt, c.outcome, budget)
		}
		if limit := requests * 1.2; float64(attempts) > limit {
			t.Errorf("%s: %d attempts for %d requests", name, attempts, requests)
		}
		if budget.InUse() != 0 || b.set.Leases() != 0 {
			t.Errorf("%s: %d of the budget and %d leases left", name, budget.InUse(), b.set.Leases())
		}
	}
}

// tryAll sends one request the way a proxy does and returns how many attempts
// that took.
func (b *bench) tryAll(a Attempt, o pools.Outcome, budget *RetryBudget) int {
	q := Query{}
	a.BodyInMemory, a.DeadlineLeft, a.MaxAttempts = true, time.Minute, 3
	for taken := 0; ; taken++ {
		l, _ := b.lease(q)
		a.AttemptsMade++
		id, _ := l.Replica()
		q.Exclude = append(q.Exclude, id)
		l.End(o)
		v := b.set.View()
		a.OthersLeft = OthersLeft(&Input{Now: v.Elapsed(b.at), View: v, Query: &q})
		if d := DecideRetry(&a); !d.Retry || !budget.Take(b.set.Leases()) {
			for ; taken > 0; taken-- {
				budget.Done()
			}
			return a.AttemptsMade
		}
	}
}
