package routing

import (
	"fmt"
	"slices"
	"sync/atomic"

	"penstock/configs"
	"penstock/pools"
)

// maxStack is how many candidates a choice keeps on its stack; larger pools
// cost one allocation.
const maxStack = 512

// policy is every rule of this package: what they share (eligibility, pins,
// panic) stands in Choose, and the rest is a switch. An interface per rule would
// move the candidates to the heap.
type policy struct {
	name    configs.Policy
	factor  float64 // bounded load of the hash rules
	strides atomic.Pointer[strides]
	ring    atomic.Pointer[ring]
}

var _ Policy = (*policy)(nil)

// New returns the policy of that name. An empty name is least_load.
func New(name configs.Policy, opts configs.PolicyOptions) (Policy, error) {
	switch name {
	case "":
		name = configs.PolicyLeastLoad
	case configs.PolicyRoundRobin, configs.PolicyRandom, configs.PolicyLeastLoad, configs.PolicyPowerOfTwo,
		configs.PolicyConsistentHash, configs.PolicySession:
	default:
		return nil, fmt.Errorf("cannot make policy %q: there is none of that name", name)
	}
	p := &policy{name: name, factor: opts.LoadFactor}
	if p.factor == 0 {
		p.factor = defaultLoadFactor
	}
	if p.factor < 1 {
		return nil, fmt.Errorf("cannot make policy %q: load_factor %g is below 1", name, p.factor)
	}
	return p, nil
}

// Choose implements Policy.
func (p *policy) Choose(in *Input, out *Decision) {
	*out = Decision{Index: -1}
	if in.Query.Pin != "" {
		choosePinned(in, out)
		return
	}
	var stack [maxStack]int32
	list := candidates(in, stack[:0])
	out.Tried = len(list)
	switch len(list) {
	case 0:
		return
	case 1:
		out.Index, out.Why = int(list[0]), ReasonOnly
	default:
		out.Why = ReasonPolicy
		p.among(in, list, out)
	}
	if in.View.Panic {
		out.Why = ReasonPanic
	}
}

// among applies the rule to two or more candidates.
func (p *policy) among(in *Input, list []int32, out *Decision) {
	switch p.name {
	case configs.PolicyRoundRobin:
		p.roundRobin(in, list, out)
	case configs.PolicyRandom:
		out.Index = drawWeighted(in, list, -1)
	case configs.PolicyPowerOfTwo:
		powerOfTwo(in, list, out)
	case configs.PolicyConsistentHash:
		p.hashed(in, list, out, in.Query.Prefix)
	case configs.PolicySession:
		p.hashed(in, list, out, 0)
	case configs.PolicyLeastLoad:
		leastLoad(in, list, out)
	}
}

// choosePinned serves a request whose state lives on one replica: that one or
// none. Being busy does not matter, since no other can answer.
func choosePinned(in *Input, out *Decision) {
	out.Tried = 1
	i := in.View.Find(in.Query.Pin)
	if i < 0 || !eligible(in, i) {
		return
	}
	out.Index, out.Why = i, ReasonPinned
}

// eligible is the one gate that every choice passes.
func eligible(in *Input, i int) bool {
	m := &in.View.Members[i]
	return m.EligibleAt(in.Query.Model, in.Now) && !slices.Contains(in.Query.Exclude, m.ID)
}

// candidates appends the eligible members. Those that said a moment ago that
// they are busy are left out while there are others.
func candidates(in *Input, list []int32) []int32 {
	busy := 0
	for i := range in.View.Members {
		if !eligible(in, i) {
			continue
		}
		if in.View.Members[i].AvoidedAt(in.Now) {
			busy++
			continue
		}
		list = append(list, int32(i))
	}
	if len(list) > 0 || busy == 0 {
		return list
	}
	for i := range in.View.Members {
		if eligible(in, i) {
			list = append(list, int32(i))
		}
	}
	return list
}

// OthersLeft counts the replicas that a retry could go to: eligible, not tried,
// and with nothing against them. A first attempt may go to a replica that is
// busy, or that only a panic lets in; a retry there would multiply the load of
// a fleet in trouble.
func OthersLeft(in *Input) int {
	n := 0
	for i := range in.View.Members {
		if eligible(in, i) && in.View.Members[i].SoundAt(in.Now) {
			n++
		}
	}
	return n
}

// share is the part of the pool's traffic that a replica should get, relative
// to the others.
func share(m *pools.Member, in *Input) float64 {
	return float64(max(1, m.Weight)) * m.RampAt(in.Now)
}
