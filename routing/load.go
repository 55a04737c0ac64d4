package routing

import "math/bits"

// guessTokens stands for the size of a request when nothing is in flight to
// take the mean of.
const guessTokens = 512

// scale is what turns requests into tokens within one choice.
type scale struct {
	cost       float64 // tokens of the request being placed
	perRequest float64 // mean tokens of the requests in flight; 0 until asked for
}

func scaleFor(q *Query) scale {
	return scale{cost: float64(max(1, q.Cost.PromptTokens+q.Cost.OutputTokens))}
}

// mean is worked out only when an engine has requests that are not ours, which
// in most pools is never.
func (s *scale) mean(in *Input, list []int32) float64 {
	if s.perRequest > 0 {
		return s.perRequest
	}
	tokens, requests := int64(0), 0
	for _, i := range list {
		l := in.View.Members[i].LoadAt(in.Now)
		tokens += l.Tokens
		requests += l.InFlight
	}
	s.perRequest = guessTokens
	if requests > 0 && tokens > 0 {
		s.perRequest = float64(tokens) / float64(requests)
	}
	return s.perRequest
}

// score is the load that the replica would have with the request on it, in
// tokens per unit of share. Requests that the engine has and this gateway did
// not send are counted at the mean size; one token per request of ours lets
// requests of unknown size spread too.
func (s *scale) score(in *Input, list []int32, i int32) float64 {
	m := &in.View.Members[i]
	l := m.LoadAt(in.Now)
	work := float64(max(0, l.Tokens)) + float64(l.InFlight) + s.cost
	if foreign := max(0, l.Running) + max(0, l.Waiting) - l.InFlight; foreign > 0 {
		work += float64(foreign) * s.mean(in, list)
	}
	return work / (float64(max(1, m.Weight)) * l.Ramp)
}

// leastLoad takes the lowest score, at random among equals: taking the first of
// them sends every burst to replica 0.
func leastLoad(in *Input, list []int32, out *Decision) {
	s := scaleFor(in.Query)
	seed := in.Rand.Uint64() // one draw for all ties: an idle pool is nothing but ties
	ties := uint64(0)
	for _, i := range list {
		score := s.score(in, list, i)
		switch {
		case ties == 0 || score < out.Score:
			out.Index, out.Score, ties = int(i), score, 1
		case score == out.Score:
			ties++
			if pick, _ := bits.Mul64(mix(seed+ties*golden), ties); pick == 0 { // one in ties
				out.Index = int(i)
			}
		}
	}
}

// powerOfTwo draws two by weight and takes the less loaded. It looks at two
// replicas instead of all, and does not herd on a stale reading.
func powerOfTwo(in *Input, list []int32, out *Decision) {
	first := drawWeighted(in, list, -1)
	second := drawWeighted(in, list, first)
	pair := [2]int32{int32(first), int32(second)}
	s := scaleFor(in.Query)
	a, b := s.score(in, pair[:], pair[0]), s.score(in, pair[:], pair[1])
	out.Index, out.Score = first, a
	if b < a {
		out.Index, out.Score = second, b
	}
}

// drawWeighted draws a candidate by share, other than the one at index not.
func drawWeighted(in *Input, list []int32, not int) int {
	total, last := 0.0, -1
	for _, i := range list {
		if int(i) != not {
			total += share(&in.View.Members[i], in)
		}
	}
	x := in.Rand.Float64() * total
	for _, i := range list {
		if int(i) == not {
			continue
		}
		last = int(i)
		if x -= share(&in.View.Members[i], in); x < 0 {
			return last
		}
	}
	return last // rounding, or a ramp that moved between the two passes
}
