package keying

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"penstock/pools"
)

// metrics are those of all pools. Label values come from closed sets.
type metrics struct {
	keyed      *prometheus.CounterVec   // pool, source, reason
	seconds    *prometheus.HistogramVec // pool, source
	bytes      *prometheus.CounterVec   // pool, state
	compares   *prometheus.CounterVec   // pool, with, result
	mismatches *prometheus.CounterVec   // pool, with
	remote     *prometheus.CounterVec   // pool, result
}

// Buckets: from a known prompt's microseconds to the budget's milliseconds.
var secondsBuckets = []float64{2e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, .001, .0025, .005, .01, .025, .1, 1}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		keyed: counter("penstock_keying_total", "Prompts by where their keys came from, and why not from the tokenizer.", "pool", "source", "reason"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "penstock_keying_seconds", Help: "Time to key a prompt.", Buckets: secondsBuckets,
		}, []string{"pool", "source"}),
		bytes:      counter("penstock_keying_bytes_total", "Prompt text, by whether it was known.", "pool", "state"),
		compares:   counter("penstock_tokenizer_comparisons_total", "Comparisons with the engines' own tokens.", "pool", "with", "result"),
		mismatches: counter("penstock_tokenizer_mismatch_total", "Times that a tokenizer was taken out of use because it is unlike the engines'.", "pool", "with"),
		remote:     counter("penstock_keying_remote_total", "Prompts looked up among the engines' answers, and questions to engines.", "pool", "result"),
	}
	reg.MustRegister(m.keyed, m.seconds, m.bytes, m.compares, m.mismatches, m.remote)
	return m
}

// What comparisons are made with, and how they end.
const (
	withUsage     = "usage"
	withParity    = "parity"
	equal         = "equal"
	different     = "different"
	notComparable = "not_comparable"
)

func comparisonOf(differs bool) string {
	if differs {
		return different
	}
	return equal
}

// How looking an answer up, and asking for it, can end.
const (
	askHit         = "hit"         // an equal prompt was asked about before
	askJoined      = "joined"      // it is being asked about
	askLate        = "late"        // the answer was waited for in vain
	askDropped     = "dropped"     // too many questions under way
	askPaused      = "paused"      // the engines failed to answer
	askOnce        = "once"        // it is asked about when it comes again
	askLimited     = "limited"     // over the questions or bytes a second
	askUnsupported = "unsupported" // no way to ask
	askAnswered    = "answered"
	askRefused     = "refused" // the engine does not take the request
	askFailed      = "failed"
)

// poolMetrics are the children of one pool.
type poolMetrics struct {
	known, new prometheus.Counter
	seconds    [originCount]prometheus.Observer
	byWhat     children[keyedAs]
	compares   children[comparison]
	mismatches children[string]
	results    children[string]
	gone       atomic.Bool // the pool is; whoever still has it counts for nobody
}

// keyedAs is the label pair of one counter, comparison another's.
type (
	keyedAs struct {
		origin Origin
		reason Reason
	}
	comparison struct{ with, result string }
)

func (m *metrics) of(pool string) *poolMetrics {
	p := &poolMetrics{known: m.bytes.WithLabelValues(pool, "known"), new: m.bytes.WithLabelValues(pool, "new")}
	for o := range originCount {
		p.seconds[o] = m.seconds.WithLabelValues(pool, o.String())
	}
	of := func(v *prometheus.CounterVec, labels ...string) prometheus.Counter {
		if p.gone.Load() {
			return prometheus.NewCounter(prometheus.CounterOpts{})
		}
		return v.WithLabelValues(append([]string{pool}, labels...)...)
	}
	p.byWhat.make = func(k keyedAs) prometheus.Counter { return of(m.keyed, k.origin.String(), string(k.reason)) }
	p.compares.make = func(k comparison) prometheus.Counter { return of(m.compares, k.with, k.result) }
	p.mismatches.make = func(with string) prometheus.Counter { return of(m.mismatches, with) }
	p.results.make = func(result string) prometheus.Counter { return of(m.remote, result) }
	return p
}

// forget removes the rows of a pool.
func (m *metrics) forget(pool string) {
	rows := prometheus.Labels{"pool": pool}
	for _, v := range []*prometheus.CounterVec{m.keyed, m.bytes, m.compares, m.mismatches, m.remote} {
		v.DeletePartialMatch(rows)
	}
	m.seconds.DeletePartialMatch(rows)
}

// keyed counts one prompt. Warm it does not allocate.
func (p *poolMetrics) keyed(r *Result, took time.Duration) {
	p.byWhat.get(keyedAs{r.Origin, r.Reason}).Inc()
	p.seconds[r.Origin].Observe(took.Seconds())
	p.known.Add(float64(r.KnownBytes))
	p.new.Add(float64(r.NewBytes))
}

func (p *poolMetrics) asked(result string) { p.results.get(result).Inc() }

func (p *poolMetrics) compared(with, result string) { p.compares.get(comparison{with, result}).Inc() }

func (p *poolMetrics) mismatch(usage bool) {
	with := withParity
	if usage {
		with = withUsage
	}
	p.mismatches.get(with).Inc()
}

// collector reads what sources hold.
type collector struct{ m *Manager }

var (
	stateDesc  = prometheus.NewDesc("penstock_tokenizer_state", "1 for the state that the pool's tokenizer is in.", []string{"pool", "state"}, nil)
	tablesDesc = prometheus.NewDesc("penstock_tokenizer_bytes", "Memory of the tokenizer's tables.", []string{"pool"}, nil)
	memoDesc   = prometheus.NewDesc("penstock_keying_memo_bytes", "Memory of known prompt starts.", []string{"pool"}, nil)
	placesDesc = prometheus.NewDesc("penstock_keying_memo_places", "Places in prompts that are known.", []string{"pool"}, nil)
	cacheDesc  = prometheus.NewDesc("penstock_keying_remote_bytes", "Memory of engines' answers.", []string{"pool"}, nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{stateDesc, tablesDesc, memoDesc, placesDesc, cacheDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.m.each(func(set *pools.Set, s *Source) {
		st := s.Status()
		for state := range stateCount {
			on := 0.0
			if state == st.State {
				on = 1
			}
			ch <- prometheus.MustNewConstMetric(stateDesc, prometheus.GaugeValue, on, set.Name(), state.String())
		}
		gauge := func(d *prometheus.Desc, n int64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), set.Name())
		}
		gauge(tablesDesc, st.Info.Bytes)
		gauge(memoDesc, st.MemoBytes)
		gauge(placesDesc, int64(st.MemoPlaces))
		gauge(cacheDesc, s.remote.size())
	})
}
