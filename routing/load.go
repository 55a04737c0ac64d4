package routing

import (
	"penstock/pools"
)

// guessTokens stands for the size of a request when nothing is in flight to
// take the mean of.
const guessTokens = 512

// scale is what turns requests into tokens within one choice.
type scale struct {
	perRequest float64 // mean tokens of the requests in flight
	cost       float64 // of the request being placed
}

// scaleOf takes the mean over the candidates.
func scaleOf(in *Input, list []int32) scale {
	tokens, requests := int64(0), 0
	for _, i := range list {
		l := in.View.Members[i].LoadAt(in.Now)
		tokens += l.Tokens
		requests += l.InFlight
	}
	s := scale{perRequest: guessTokens, cost: float64(max(1, in.Query.Cost.PromptTokens+in.Query.Cost.OutputTokens))}
	if requests > 0 && tokens > 0 {
		s.perRequest = float64(tokens) / float64(requests)
	}
	return s
}

// score is the load that the replica would have with the request on it, in
// tokens per unit of share. Requests that the engine has and this gateway did
// not send are counted at the mean size; one token per request of ours lets
// requests of unknown size spread too.
func (s scale) score(m *pools.Member, in *Input) float64 {
	l := m.LoadAt(in.Now)
	own := float64(max(0, l.Tokens)) + float64(l.InFlight)
	foreign := 0.0
	if l.Running >= 0 && l.Waiting >= 0 {
		foreign = float64(max(0, l.Running+l.Waiting-l.InFlight))
	}
	return (own + foreign*s.perRequest + s.cost) / (float64(max(1, m.Weight)) * l.Ramp)
}

// leastLoad takes the lowest score, at random among equals: taking the first of
// them sends every burst to replica 0.
func leastLoad(in *Input, list []int32, out *Decision) {
	s := scaleOf(in, list)
	ties := 0
	for _, i := range list {
		score := s.score(&in.View.Members[i], in)
		switch {
		case ties == 0 || score < out.Score:
			out.Index, out.Score, ties = int(i), score, 1
		case score == out.Score:
			ties++
			if in.Rand.IntN(ties) == 0 {
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
	s := scaleOf(in, pair[:])
	a, b := s.score(&in.View.Members[first], in), s.score(&in.View.Members[second], in)
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
