package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// median of values; NaN when there are none. values keep their order.
func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile by linear interpolation between the closest ranks.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Clone(values)
	slices.Sort(s)
	at := q * float64(len(s)-1)
	low := int(at)
	if low+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[low] + (at-float64(low))*(s[low+1]-s[low])
}

// resamples of the bootstrap: the 2.5th percentile is then the 50th of them.
const resamples = 2000

// interval is the 95 % bootstrap interval of the median. It is reproducible:
// the seed is fixed.
func interval(values []float64) (low, high float64) {
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	r := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	draw := make([]float64, len(values))
	for i := range medians {
		for j := range draw {
			draw[j] = values[r.IntN(len(values))]
		}
		medians[i] = median(draw)
	}
	return quantile(medians, 0.025), quantile(medians, 0.975)
}

// ratios pairs the values of one round: a[i]/b[i]. A round that lacks either is
// left out (NaN).
func ratios(a, b []float64) []float64 {
	return pairs(a, b, func(x, y float64) float64 { return x / y })
}

// differences pairs the values of one round: a[i]-b[i].
func differences(a, b []float64) []float64 {
	return pairs(a, b, func(x, y float64) float64 { return x - y })
}

func pairs(a, b []float64, f func(x, y float64) float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		if v := f(a[i], b[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, v)
		}
	}
	return out
}

// present drops the rounds without a value.
func present(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}
