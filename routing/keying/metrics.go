package keying

import (
	"maps"
	"sync"
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
	askUnsupported = "unsupported" // no way to ask
	askAnswered    = "answered"
	askRefused     = "refused" // the engine does not take the request
	askFailed      = "failed"
)

// poolMetrics are the children of one pool, looked up once.
type poolMetrics struct {
	all        *metrics
	pool       string
	known, new prometheus.Counter
	seconds    [originCount]prometheus.Observer

	mu      sync.Mutex // serialises writers of byWhat
	byWhat  atomic.Pointer[map[keyedAs]prometheus.Counter]
	results atomic.Pointer[map[string]prometheus.Counter]
}

// keyedAs is the label pair of one counter.
type keyedAs struct {
	origin Origin
	reason Reason
}

func (m *metrics) of(pool string) *poolMetrics {
	p := &poolMetrics{
		all: m, pool: pool,
		known: m.bytes.WithLabelValues(pool, "known"), new: m.bytes.WithLabelValues(pool, "new"),
	}
	for o := range originCount {
		p.seconds[o] = m.seconds.WithLabelValues(pool, o.String())
	}
	p.byWhat.Store(&map[keyedAs]prometheus.Counter{})
	p.results.Store(&map[string]prometheus.Counter{})
	return p
}

// keyed counts one prompt. Warm it does not allocate.
func (p *poolMetrics) keyed(r *Result, took time.Duration) {
	as := keyedAs{r.Origin, r.Reason}
	c := (*p.byWhat.Load())[as]
	if c == nil {
		c = p.all.keyed.WithLabelValues(p.pool, r.Origin.String(), string(r.Reason))
		grow(&p.mu, &p.byWhat, as, c)
	}
	c.Inc()
	p.seconds[r.Origin].Observe(took.Seconds())
	p.known.Add(float64(r.KnownBytes))
	p.new.Add(float64(r.NewBytes))
}

// grow adds an entry to a map that readers take without a lock. Keys are of closed
// sets.
func grow[K comparable](mu *sync.Mutex, to *atomic.Pointer[map[K]prometheus.Counter], key K, c prometheus.Counter) {
	mu.Lock()
	defer mu.Unlock()
	next := maps.Clone(*to.Load())
	next[key] = c
	to.Store(&next)
}

func (p *poolMetrics) asked(result string) {
	c := (*p.results.Load())[result]
	if c == nil {
		c = p.all.remote.WithLabelValues(p.pool, result)
		grow(&p.mu, &p.results, result, c)
	}
	c.Inc()
}

func (p *poolMetrics) compared(with, result string) {
	p.all.compares.WithLabelValues(p.pool, with, result).Inc()
}

func (p *poolMetrics) mismatch(usage bool) {
	with := withParity
	if usage {
		with = withUsage
	}
	p.all.mismatches.WithLabelValues(p.pool, with).Inc()
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
