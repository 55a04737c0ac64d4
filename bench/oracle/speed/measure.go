package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"penstock/bench/oracle"
	"penstock/bench/oracle/corpus"
	"penstock/routing/tokenizer"
)

// result is what was measured of one model.
type result struct {
	model   oracle.Model
	info    tokenizer.Info
	refused string // why it was not loaded

	load, loadCPU time.Duration
	resident      int64 // heap that stays after loading
	encoder       int64 // heap of one warm encoder

	speed  map[corpus.Kind]speed
	worst  []worst
	talk   conversation
	allocs float64 // per encoding of a document, warm
}

// speed is MB/s, ours and the peers', by name: ours, hf, tiktoken, mistral.
type speed map[string][]float64

// worst is one input made to be slow.
type worst struct {
	name  string
	times []time.Duration
}

func measureModel(ctx context.Context, o options, cache oracle.Cache, m oracle.Model, texts []text, dir string) (result, error) {
	r := result{model: m, speed: map[corpus.Kind]speed{}}
	ours, err := r.loadModel(m)
	if errors.Is(err, tokenizer.ErrUnsupported) {
		r.refused = err.Error()
		return r, nil
	}
	if err != nil {
		return r, err
	}
	peers, err := startPeers(ctx, o, cache, m, dir)
	if err != nil {
		return r, err
	}
	defer peers.close()
	for _, t := range texts {
		if r.speed[t.kind], err = rounds(o.rounds, ours, peers, t); err != nil {
			return r, err
		}
	}
	if r.allocs, err = allocations(ours, texts); err != nil {
		return r, err
	}
	if r.worst, err = worstCases(ours, min(o.rounds, 5)); err != nil {
		return r, err
	}
	r.talk, err = talk(m, ours, texts, min(o.rounds, 3))
	return r, err
}

// loadModel loads a model twice: once for the clock, once for the memory, which the
// collector must have stopped moving for.
func (r *result) loadModel(m oracle.Model) (*tokenizer.Model, error) {
	start, cpu := time.Now(), processCPU()
	ours, err := m.Load()
	if err != nil {
		return nil, err
	}
	r.load, r.loadCPU = time.Since(start), processCPU()-cpu
	r.info = ours.Info()
	ours = nil
	before := heap()
	if ours, err = m.Load(); err != nil {
		return nil, err
	}
	r.resident = heap() - before
	before = heap()
	e := ours.NewEncoder()
	if _, err := e.Append(nil, []byte(strings.Repeat("warm ", 2000)), 0); err != nil {
		return nil, err
	}
	r.encoder = heap() - before
	runtime.KeepAlive(e)
	return ours, nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// rounds alternates between ours and the peers, so that what else the machine does
// meets all of them.
func rounds(n int, ours *tokenizer.Model, peers *peers, t text) (speed, error) {
	found := speed{}
	for range n {
		mbs, err := steady(ours, t)
		if err != nil {
			return nil, err
		}
		found["ours"] = append(found["ours"], mbs)
		if err := peers.round(t, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// steady is one round of ours: a new encoder, warmed, then one pass.
func steady(m *tokenizer.Model, t text) (float64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	encoder := m.NewEncoder()
	ids := make([]uint32, 0, documentBytes*2)
	var err error
	for _, doc := range t.warm {
		if ids, err = encoder.Append(ids[:0], doc, 0); err != nil {
			return 0, err
		}
	}
	bytes := 0
	start := threadCPU()
	for _, doc := range t.unseen {
		if ids, err = encoder.Append(ids[:0], doc, 0); err != nil {
			return 0, err
		}
		bytes += len(doc)
	}
	return megabytes(bytes, threadCPU()-start), nil
}

func megabytes(bytes int, d time.Duration) float64 {
	return float64(bytes) / 1e6 / max(d, time.Microsecond).Seconds()
}

// allocations is how many allocations one warm encoding of a document makes.
func allocations(m *tokenizer.Model, texts []text) (float64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	encoder := m.NewEncoder()
	ids := make([]uint32, 0, documentBytes*2)
	encoded := 0
	pass := func() (err error) {
		for _, t := range texts {
			for _, doc := range t.unseen {
				if ids, err = encoder.Append(ids[:0], doc, 0); err != nil {
					return err
				}
				encoded++
			}
		}
		return nil
	}
	if err := pass(); err != nil {
		return 0, err
	}
	encoded = 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := pass()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(max(encoded, 1)), err
}

// worstBytes is the length of the inputs made to be slow.
const worstBytes = 400 << 10

func worstInputs() []struct {
	name string
	text []byte
} {
	r := rand.New(rand.NewPCG(3, 3))
	letters := make([]byte, worstBytes)
	for i := range letters {
		letters[i] = byte('a' + r.IntN(26))
	}
	var runes []byte
	for len(runes) < worstBytes {
		if c := rune(r.IntN(0x11000)); c < 0xD800 || c > 0xDFFF {
			runes = append(runes, string(c)...)
		}
	}
	repeat := func(s string) []byte { return []byte(strings.Repeat(s, worstBytes/len(s))) }
	return []struct {
		name string
		text []byte
	}{
		{"one letter", repeat("a")},
		{"spaces", repeat(" ")},
		{"=", repeat("=")},
		{"newlines", repeat("\n")},
		{"combining marks", append([]byte("a"), repeat("\u0301\u0323")...)},
		{"random letters", letters},
		{"random characters", runes},
		{"one Han character", repeat("的")},
	}
}

// worstCases times each input with an encoder that has never met it.
func worstCases(m *tokenizer.Model, rounds int) ([]worst, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	ids := make([]uint32, 0, 2*worstBytes)
	var found []worst
	for _, input := range worstInputs() {
		w := worst{name: input.name}
		for range rounds {
			encoder := m.NewEncoder()
			start := threadCPU()
			var err error
			if ids, err = encoder.Append(ids[:0], input.text, 0); err != nil {
				return nil, fmt.Errorf("%s: %w", input.name, err)
			}
			w.times = append(w.times, threadCPU()-start)
		}
		found = append(found, w)
		runtime.GC()
	}
	return found, nil
}

// threadCPU is the CPU time of the calling thread, which main has locked. Not getrusage:
// that counts in ticks of a hundredth of a second here.
func threadCPU() time.Duration { return cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) }

// processCPU is the CPU time of the whole process: loading may use other threads.
func processCPU() time.Duration { return cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID) }

func cpuTime(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic("BUG: no CPU clock: " + err.Error())
	}
	return time.Duration(t.Nano())
}

func median[T ~int64 | ~float64](values []T) T {
	if len(values) == 0 {
		var zero T
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
