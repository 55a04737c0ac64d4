package pools

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"penstock/configs"
)

// fromConfig turns a configured replica into one of the pool.
func fromConfig(r configs.Replica) Replica {
	out := Replica{
		ID: ReplicaID(r.ID), URL: strings.TrimRight(r.URL, "/"), Weight: max(1, r.Weight), Ranks: max(1, r.Ranks),
		MaxConcurrency: r.MaxConcurrency, Models: r.Models, Labels: r.Labels, HealthURL: r.HealthURL,
	}
	if out.ID == "" {
		out.ID = IDFromURL(out.URL)
	}
	return out
}

// IDFromURL is the name of a replica that was given none: host, port and base
// path.
func IDFromURL(raw string) ReplicaID {
	id := raw
	if _, rest, ok := strings.Cut(raw, "://"); ok {
		id = rest
	}
	return ReplicaID(strings.TrimRight(id, "/"))
}

// checkPool refuses what would make the names of replicas ambiguous. The rest
// of the configuration was validated where it was read.
func checkPool(cfg configs.Pool) error {
	seen := make(map[ReplicaID]bool, len(cfg.Replicas))
	var errs []error
	for _, c := range cfg.Replicas {
		r := fromConfig(c)
		if err := checkReplica(r); err != nil {
			errs = append(errs, err)
		}
		if seen[r.ID] {
			errs = append(errs, fmt.Errorf("cannot use replica %q twice: %w", r.ID, ErrDuplicate))
		}
		seen[r.ID] = true
	}
	return errors.Join(errs...)
}

func checkReplica(r Replica) error {
	u, err := url.Parse(r.URL)
	if err != nil {
		return fmt.Errorf("cannot use replica %q: %w", r.ID, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("cannot use replica %q: url %q is not http or https with a host", r.ID, r.URL)
	}
	return nil
}

// Add puts a replica into the running pool; it ramps up from its first passed
// probe. An Epoch of 0 is chosen here. A replica of the same ID makes it
// ErrDuplicate, unless that one is draining or has a lower epoch than r gives:
// then the new life takes its place, and the old one's requests finish.
func (s *Set) Add(r Replica) error {
	r.URL = strings.TrimRight(r.URL, "/")
	if r.ID == "" {
		r.ID = IDFromURL(r.URL)
	}
	r.Weight, r.Ranks, r.Registered = max(1, r.Weight), max(1, r.Ranks), true
	if err := checkReplica(r); err != nil {
		return err
	}
	return s.rename(func() error {
		old := s.find(r.ID)
		if old == nil {
			s.entries = append(s.entries, s.born(r, lateBirth))
			return nil
		}
		if !old.m.draining && (r.Epoch == 0 || r.Epoch <= old.Epoch) {
			return fmt.Errorf("cannot add replica %q: %w", r.ID, ErrDuplicate)
		}
		s.succeed(old, r)
		return nil
	})
}

// succeed replaces an entry by a new life at the same place. The caller holds mu.
func (s *Set) succeed(old *entry, r Replica) {
	s.depart(old.m)
	next := s.born(r, lateBirth)
	s.entries[slices.Index(s.entries, old)] = next
}

// depart takes a member out of sight: it gets nothing new and its requests
// finish within the drain timeout. The caller holds mu.
func (s *Set) depart(m *member) {
	m.draining, m.removing = true, true
	s.settle(m) // before the count is read: see AcquireMember
	if m.inFlight.Load() == 0 {
		m.quit()
		return
	}
	s.departing = append(s.departing, m)
	s.startTimer(m)
}

// quit marks that a member has left for good. The caller holds Set.mu.
func (m *member) quit() {
	m.stopTimer()
	select {
	case <-m.left:
	default:
		close(m.left)
	}
}

// Drain keeps new requests from a replica, which stays in the pool.
func (s *Set) Drain(id ReplicaID) error { return s.setDraining(id, true) }

// Undrain takes a Drain back. A replica being removed stays so.
func (s *Set) Undrain(id ReplicaID) error { return s.setDraining(id, false) }

func (s *Set) setDraining(id ReplicaID, draining bool) error {
	return s.change(func() error {
		e := s.find(id)
		if e == nil || (e.m.removing && !draining) {
			return fmt.Errorf("cannot change drain of replica %q: %w", id, ErrUnknown)
		}
		e.m.draining = draining
		return nil
	})
}

// Remove drains a replica and takes it out of the pool when its requests have
// ended or the drain timeout is over; then the channel is closed.
func (s *Set) Remove(id ReplicaID) (<-chan struct{}, error) {
	var left chan struct{}
	err := s.rename(func() error {
		e := s.find(id)
		if e == nil {
			return fmt.Errorf("cannot remove replica %q: %w", id, ErrUnknown)
		}
		left = e.m.left
		s.retire(e)
		return nil
	})
	return left, err
}

// retire marks an entry for removal, or removes it when it is idle. The caller
// holds mu and publishes.
func (s *Set) retire(e *entry) {
	e.m.draining, e.m.removing = true, true
	s.settle(e.m) // before the count is read: see AcquireMember
	if e.m.inFlight.Load() > 0 {
		s.startTimer(e.m)
		return
	}
	s.entries = slices.DeleteFunc(s.entries, func(x *entry) bool { return x == e })
	e.m.quit()
}

// drained is called when the last request of a draining member ended.
func (s *Set) drained(m *member) {
	s.drop(m, func() bool { return m.removing && m.inFlight.Load() == 0 })
}

// expel is called when the drain timeout of a removed member is over.
func (s *Set) expel(m *member) {
	s.drop(m, func() bool { return m.removing })
}

// drop takes a member out of the pool if it still may. Requests that run on are
// still counted by Leases.
func (s *Set) drop(m *member, may func() bool) {
	_ = s.rename(func() error {
		if !may() {
			return ErrUnknown // nothing to publish
		}
		s.entries = slices.DeleteFunc(s.entries, func(e *entry) bool { return e.m == m })
		s.departing = slices.DeleteFunc(s.departing, func(x *member) bool { return x == m })
		if m.inFlight.Load() > 0 {
			s.departing = append(s.departing, m)
		}
		m.quit()
		return nil
	})
}

// Update changes a replica in place. Its ID, epoch and URL stay: another
// address is another life, see Add.
func (s *Set) Update(id ReplicaID, f func(*Replica)) error {
	return s.rename(func() error {
		e := s.find(id)
		if e == nil {
			return fmt.Errorf("cannot update replica %q: %w", id, ErrUnknown)
		}
		next := e.Replica
		f(&next)
		next.ID, next.Epoch, next.URL = e.ID, e.Epoch, e.URL
		next.Weight, next.Ranks = max(1, next.Weight), max(1, next.Ranks)
		e.Replica = next
		return nil
	})
}

// Apply takes over a new configuration. Replicas whose ID and URL stay keep
// their counters, health and breaker, and what Update changed unless their own
// lines in the file changed too; new ones ramp up; those gone from it are
// removed as by Remove, except the ones added at run time, which stay.
func (s *Set) Apply(cfg configs.Pool) error {
	if err := checkPool(cfg); err != nil {
		return err
	}
	s.apply(cfg)
	s.modelsChanged()
	return nil
}

// apply is Apply for a configuration that was checked, without telling the fleet.
func (s *Set) apply(cfg configs.Pool) {
	_ = s.change(func() error { // f does not fail
		rearm := cfg.Breaker != s.cfg.Breaker
		old := s.cfg.Replicas
		s.configure(cfg)
		s.adopt(cfg.Replicas, old)
		for _, e := range s.entries {
			if rearm {
				s.armBreaker(e.m)
			}
			if cfg.Health.Disabled {
				e.m.health = StateReady
			}
		}
		return nil
	})
}

// adopt brings the entries into line with the configured replicas: those in
// their order, then the others in theirs. The caller holds mu and publishes.
func (s *Set) adopt(replicas, before []configs.Replica) {
	next := make([]*entry, 0, len(s.entries)+len(replicas))
	for _, c := range replicas {
		r := fromConfig(c)
		old := s.find(r.ID)
		switch {
		case old == nil:
			next = append(next, s.born(r, lateBirth))
		case old.URL != r.URL || old.m.removing:
			s.depart(old.m)
			next = append(next, s.born(r, lateBirth))
		case hadLine(before, c):
			next = append(next, old)
		default:
			r.Epoch = old.Epoch
			next = append(next, &entry{Replica: r, m: old.m})
		}
	}
	listed := len(next)
	for _, e := range s.entries {
		if !slices.ContainsFunc(next[:listed], func(x *entry) bool { return x.ID == e.ID }) {
			next = append(next, e)
		}
	}
	s.entries = next
	for _, e := range slices.Clone(next[listed:]) {
		if !e.Registered && !e.m.removing {
			s.retire(e)
		}
	}
}

// hadLine reports whether a configuration said the same of a replica.
func hadLine(before []configs.Replica, c configs.Replica) bool {
	return slices.ContainsFunc(before, func(old configs.Replica) bool { return reflect.DeepEqual(old, c) })
}
