package routing

import (
	"sync/atomic"

	"penstock/pools"
)

// strideOne is the stride of a replica of weight 1: fine enough for weight 1000
// and for 2^40 choices before it wraps.
const strideOne = 1 << 24

// strides is the state of round_robin: stride scheduling, which gives the same
// smooth order as nginx's weighted round robin without a lock. Every replica has
// a pass; the lowest goes next and moves on by a stride that is short for heavy
// replicas.
type strides struct {
	version uint64
	clock   *atomic.Uint64 // highest start of a pass handed out
	lanes   []lane         // by index into View.Members
}

// lane is one replica's pass. It outlives views, by pointer.
type lane struct {
	id    pools.ReplicaID
	epoch pools.Epoch
	pass  *atomic.Uint64
}

// lanesFor returns the state for a view, carrying passes over from the last.
func (p *policy) lanesFor(v *pools.View) *strides {
	old := p.strides.Load()
	if old != nil && old.version == v.Version {
		return old
	}
	next := &strides{version: v.Version, lanes: make([]lane, len(v.Members))}
	if old == nil {
		old = &strides{clock: new(atomic.Uint64)}
	}
	next.clock = old.clock
	known := make(map[lane]*atomic.Uint64, len(old.lanes))
	for _, l := range old.lanes {
		known[lane{id: l.id, epoch: l.epoch}] = l.pass
	}
	for i := range v.Members {
		m := &v.Members[i]
		key := lane{id: m.ID, epoch: m.Epoch}
		pass := known[key]
		if pass == nil {
			// Half a stride after the clock, so that light replicas come in
			// between the turns of a heavy one and not all before it.
			pass = new(atomic.Uint64)
			pass.Store(next.clock.Load() + strideOne/uint64(2*max(1, m.Weight)))
		}
		key.pass = pass
		next.lanes[i] = key
	}
	// Two views at once may both store; each lane is kept by pointer, so the
	// loser's turns are not lost.
	p.strides.Store(next)
	return next
}

// roundRobin takes the candidate whose pass is lowest. One that was away is
// brought up to the clock, so that it does not catch up in a burst.
func (p *policy) roundRobin(in *Input, list []int32, out *Decision) {
	st := p.lanesFor(in.View)
	for {
		clock := st.clock.Load()
		best, bestPass, bestOld := -1, uint64(0), uint64(0)
		for _, i := range list {
			old := st.lanes[i].pass.Load()
			if pass := max(old, clock); best < 0 || pass < bestPass {
				best, bestPass, bestOld = int(i), pass, old
			}
		}
		m := &in.View.Members[best]
		step := max(1, uint64(strideOne/share(m, in)))
		if st.lanes[best].pass.CompareAndSwap(bestOld, bestPass+step) {
			raise(st.clock, bestPass)
			out.Index = best
			return
		}
	}
}

// raise lifts a clock to at least x.
func raise(clock *atomic.Uint64, x uint64) {
	for {
		now := clock.Load()
		if x <= now || clock.CompareAndSwap(now, x) {
			return
		}
	}
}
