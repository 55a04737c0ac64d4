package main

import (
	"math"
	"reflect"
	"testing"
)

func TestMedianAndQuantile(t *testing.T) {
	t.Parallel()
	f := func(values []float64, q, want float64) {
		t.Helper()
		if got := quantile(values, q); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("quantile(%v, %g) = %g, want %g", values, q, got, want)
		}
	}
	f([]float64{3, 1, 2}, 0.5, 2)
	f([]float64{4, 1, 2, 3}, 0.5, 2.5)
	f([]float64{1, 2, 3}, 1, 3)
	f([]float64{1, 2, 3}, 0, 1)
	f([]float64{7}, 0.99, 7)
	f(nil, 0.5, math.NaN())
	values := []float64{3, 1, 2}
	median(values)
	if !reflect.DeepEqual(values, []float64{3, 1, 2}) {
		t.Error("the values were reordered")
	}
}

func TestIntervalHoldsTheMedianAndRepeats(t *testing.T) {
	t.Parallel()
	values := []float64{10, 11, 9, 10.5, 30, 9.5, 10.2}
	low, high := interval(values)
	if m := median(values); low > m || high < m || low < 9 || high > 30 {
		t.Fatalf("interval %g to %g of median %g", low, high, m)
	}
	if l, h := interval(values); l != low || h != high {
		t.Fatal("the interval differs between calls")
	}
	if l, h := interval([]float64{5, 5, 5}); l != 5 || h != 5 {
		t.Fatalf("interval of equal values is %g to %g", l, h)
	}
	if l, _ := interval(nil); !math.IsNaN(l) {
		t.Fatal("interval of nothing")
	}
}

func TestPairsLeaveOutRoundsWithoutAValue(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	if got := ratios([]float64{2, nan, 6}, []float64{1, 1, 2, 9}); !reflect.DeepEqual(got, []float64{2, 3}) {
		t.Fatalf("got %v", got)
	}
	if got := ratios([]float64{2}, []float64{0}); got != nil {
		t.Fatalf("got %v for a ratio to nothing", got)
	}
	if got := differences([]float64{5, 7}, []float64{1, nan}); !reflect.DeepEqual(got, []float64{4}) {
		t.Fatalf("got %v", got)
	}
	if got := present([]float64{nan, 1}); !reflect.DeepEqual(got, []float64{1}) {
		t.Fatalf("got %v", got)
	}
}
