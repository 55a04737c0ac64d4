package routing

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"penstock/pools"
)

// defaultLoadFactor lets a replica have a quarter more than its fair share
// before its keys overflow to the next one on the ring.
const defaultLoadFactor = 1.25

// Points on the ring. A replica of weight 1 has pointsPerWeight, which keeps
// shares within some 8 %; when all weights together would exceed maxPoints, the
// number is halved until they fit, so that the points left stay where they are.
const (
	pointsPerWeight = 160
	maxPoints       = 1 << 17
)

// ring is consistent hashing over all members of a view, alive or not: a
// replica that is down keeps its place, and only its own keys move meanwhile.
type ring struct {
	version uint64
	owners  []owner // what the points were computed from
	points  []point // sorted by at
}

type owner struct {
	id     pools.ReplicaID
	weight int
}

type point struct {
	at    uint64
	index int32 // into View.Members
}

// ringFor returns the ring of a view. It is computed again only when members or
// weights changed; a change of health keeps the points.
func (p *policy) ringFor(v *pools.View) *ring {
	old := p.ring.Load()
	if old != nil && old.version == v.Version {
		return old
	}
	owners := make([]owner, len(v.Members))
	for i := range v.Members {
		owners[i] = owner{v.Members[i].ID, max(1, v.Members[i].Weight)}
	}
	next := &ring{version: v.Version, owners: owners}
	if old != nil && slices.Equal(old.owners, owners) {
		next.points = old.points
	} else {
		next.points = pointsOf(owners)
	}
	p.ring.Store(next)
	return next
}

func pointsOf(owners []owner) []point {
	total := 0
	for _, o := range owners {
		total += o.weight * pointsPerWeight
	}
	shift := 0
	for total>>shift > maxPoints {
		shift++
	}
	points := make([]point, 0, total>>shift+len(owners))
	for i, o := range owners {
		seed := xxhash.Sum64String(string(o.id))
		for n := range max(1, o.weight*pointsPerWeight>>shift) {
			points = append(points, point{at: mix(seed + uint64(n)*golden), index: int32(i)})
		}
	}
	slices.SortFunc(points, func(a, b point) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		default:
			return int(a.index - b.index)
		}
	})
	return points
}

// golden is 2^64 divided by the golden ratio: its multiples lie far apart.
const golden = 0x9e3779b97f4a7c15

// mix spreads a value over 64 bits (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// search returns the position of the first point at or after key.
func (r *ring) search(key uint64) int {
	lo, hi := 0, len(r.points)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if r.points[mid].at < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(r.points) {
		return 0
	}
	return lo
}

// hashed places a request by its session, else by prefix, else by load.
func (p *policy) hashed(in *Input, list []int32, out *Decision, prefix uint64) {
	key, why := in.Query.Session, ReasonSession
	if key == 0 {
		key, why = prefix, ReasonPrefix
	}
	if key == 0 {
		leastLoad(in, list, out)
		return
	}
	out.Why = why
	p.walk(in, list, out, mix(key))
}

// walk goes round the ring from the key to the first candidate that is within
// its bound. The bounds add up to more than what is in flight, so there is one,
// unless others reserve at the same moment; then load decides.
func (p *policy) walk(in *Input, list []int32, out *Decision, key uint64) {
	r := p.ringFor(in.View)
	inFlight, shares := 1, 0.0
	for _, i := range list {
		m := &in.View.Members[i]
		inFlight += m.InFlight()
		shares += share(m, in)
	}
	perShare := p.factor * float64(inFlight) / shares
	over := false
	last := int32(-1)
	for n, at := 0, r.search(key); n < len(r.points); n++ {
		i := r.points[at].index
		if at++; at == len(r.points) {
			at = 0
		}
		if i == last {
			continue
		}
		last = i
		if _, ok := slices.BinarySearch(list, i); !ok {
			continue
		}
		m := &in.View.Members[i]
		if float64(m.InFlight()+1) <= math.Ceil(perShare*share(m, in)) {
			out.Index = int(i)
			if over {
				out.Why = ReasonOverflow
			}
			return
		}
		over = true
	}
	out.Why = ReasonOverflow
	leastLoad(in, list, out)
}
