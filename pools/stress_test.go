package pools

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"penstock/configs"
)

// TestCountersSurviveEverythingAtOnce runs requests against probes, trips,
// drains, registrations and reloads, and then expects every count at zero.
func TestCountersSurviveEverythingAtOnce(t *testing.T) {
	t.Parallel()
	cfg := poolOf(4)
	cfg.Name = "p"
	cfg.Breaker.Open = configs.Duration(time.Millisecond)
	f, err := NewFleet([]configs.Pool{cfg}, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	s := f.Pool("p")
	var requests, changes sync.WaitGroup
	stop := make(chan struct{})
	for g := range uint64(2) {
		requests.Go(func() { traffic(s, rand.New(rand.NewPCG(g, 1)), 4000) })
	}
	changes.Go(func() {
		r := rand.New(rand.NewPCG(9, 9))
		for {
			select {
			case <-stop:
				return
			default:
				disturb(f, s, r)
			}
		}
	})
	requests.Wait()
	close(stop)
	changes.Wait()
	if n := f.Leases(); n != 0 {
		t.Fatalf("leases left: %d", n)
	}
	for _, st := range s.Snapshot() {
		if st.InFlight != 0 || st.Tokens != 0 {
			t.Errorf("left over on %s: %d requests, %d tokens", st.ID, st.InFlight, st.Tokens)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if n := e.m.breaker.Load(); n != nil && n.testing.Load() != 0 {
			t.Errorf("test requests left on %s: %d", e.ID, n.testing.Load())
		}
	}
	for _, m := range s.departing {
		t.Errorf("a life of %s never left", m.id)
	}
}

// traffic takes and ends leases.
func traffic(s *Set, r *rand.Rand, n int) {
	var open []*Lease
	for range n {
		v := s.View()
		if len(v.Members) > 0 {
			m := &v.Members[r.IntN(len(v.Members))]
			m.Eligible("m")
			if l, err := s.AcquireMember(*m, Cost{PromptTokens: 10, OutputTokens: 20}); err == nil {
				open = append(open, l)
			}
		}
		if len(open) > 8 || r.IntN(2) == 0 {
			for i, l := range open {
				if i%2 == 0 {
					l.PromptDone()
				}
				l.Progress(int64(r.IntN(30)))
				l.End(Outcome(r.IntN(5)))
			}
			open = open[:0]
		}
	}
	for _, l := range open {
		l.End(OutcomeNeutral)
	}
}

// disturb makes one change of any kind.
func disturb(f *Fleet, s *Set, r *rand.Rand) {
	v := s.View()
	id, ep := ReplicaID(fmt.Sprintf("r%d", r.IntN(4))), Epoch(0)
	if i := v.Find(id); i >= 0 {
		ep = v.Members[i].Epoch
	}
	switch r.IntN(8) {
	case 0, 1:
		s.ReportProbe(id, ep, r.IntN(2) == 0, "")
	case 2:
		_ = s.Drain(id)
	case 3:
		_ = s.Undrain(id)
	case 4:
		_, _ = s.Remove(id)
	case 5:
		_ = s.Add(Replica{ID: id, URL: "http://10.0.0.1:1", Epoch: ep + Epoch(r.IntN(2))})
	case 6:
		s.ReportModels(id, ep, []string{"m", fmt.Sprint(r.IntN(2))})
	case 7:
		cfg := poolOf(1 + r.IntN(4))
		cfg.Breaker.Failures, cfg.Breaker.Open = 2+r.IntN(2), configs.Duration(time.Millisecond)
		_ = f.Apply([]configs.Pool{cfg})
	}
	f.Lookup("m")
	f.Snapshot()
}
