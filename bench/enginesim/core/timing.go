package core

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
)

// Timing is the cost model of one step, in seconds:
//
//	Base + Decode·(decoding sequences)
//	     + Prefill·Σ tokens·(1 + context/ContextScale)
//	     + KVRead·(context tokens read) + HostLoad·(tokens brought back from host memory)
//
// The context of a prefill chunk is taken at the middle of the chunk.
type Timing struct {
	Base         float64 // seconds per step: weights read once, launch overhead
	Decode       float64 // seconds per decoding sequence
	Prefill      float64 // seconds per prefill token at an empty context
	ContextScale float64 // context tokens at which a prefill token costs twice as much; 0 means never
	KVRead       float64 // seconds per token of context attended to, per sequence
	HostLoad     float64 // seconds per token copied from the host tier to the device
}

// presets are calibrated guesses, not measurements: each line says where its
// figures come from. None was checked on the hardware it is named for.
var presets = map[string]Timing{
	// 8B dense, one H100: 16 GB of weights at 3.3 TB/s is 5 ms, launch overhead
	// 1.5 ms; 16 GFLOP per token at half of peak is 32 µs; 128 KiB of KV per
	// token at 3.3 TB/s is 40 ns; PCIe 5 at 50 GB/s is 2.6 µs per token.
	"h100-8b": {Base: 6.5e-3, Decode: 20e-6, Prefill: 32e-6, ContextScale: 40_000, KVRead: 40e-9, HostLoad: 2.6e-6},
	// 32B dense, two H100: the constants of the routing study (an 8k chunk in 0.4 s).
	"h100x2-32b": {Base: 15e-3, Decode: 50e-6, Prefill: 44e-6, ContextScale: 20_000, KVRead: 40e-9, HostLoad: 5e-6},
	// 70B dense, four A100: 140 GB at 8 TB/s is 18 ms, all-reduces 7 ms; 140
	// GFLOP per token at half of 4 × 312 TFLOP/s is 225 µs; 320 KiB of KV per
	// token at 8 TB/s is 40 ns; PCIe 4 at 25 GB/s per card is 3.3 µs per token.
	"a100x4-70b": {Base: 25e-3, Decode: 60e-6, Prefill: 225e-6, ContextScale: 60_000, KVRead: 40e-9, HostLoad: 3.3e-6},
	// For tests of protocols, where only order matters.
	"instant": {Base: 1e-6},
}

// Preset returns the timing called name.
func Preset(name string) (Timing, error) {
	t, ok := presets[name]
	if !ok {
		return Timing{}, fmt.Errorf("cannot find timing preset %q: want one of %s", name, strings.Join(PresetNames(), ", "))
	}
	return t, nil
}

// PresetNames returns the names that Preset accepts, sorted.
func PresetNames() []string {
	names := make([]string, 0, len(presets))
	for n := range presets {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// batch is what one step computes.
type batch struct {
	decodes       int
	prefillTokens int
	prefillCost   float64 // Σ tokens·(1 + context/ContextScale)
	kvTokens      int
	hostTokens    int
}

func (b *batch) prefill(t *Timing, from, n int) {
	weight := 1.0
	if t.ContextScale > 0 {
		weight += (float64(from) + float64(n)/2) / t.ContextScale
	}
	b.prefillTokens += n
	b.prefillCost += float64(n) * weight
	b.kvTokens += from
}

func (b *batch) decode(context int) {
	b.decodes++
	b.kvTokens += context
}

// duration is the modelled time of b, rounded to the nanosecond, times slow.
func (t *Timing) duration(b *batch, slow float64) time.Duration {
	s := t.Base + t.Decode*float64(b.decodes) + t.Prefill*b.prefillCost +
		t.KVRead*float64(b.kvTokens) + t.HostLoad*float64(b.hostTokens)
	return time.Duration(math.Round(s * slow * 1e9))
}

func (t *Timing) validate() error {
	for _, v := range []float64{t.Base, t.Decode, t.Prefill, t.ContextScale, t.KVRead, t.HostLoad} {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("cannot use timing %+v: every constant must be finite and not negative", *t)
		}
	}
	return nil
}
