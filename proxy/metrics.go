package proxy

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"penstock/routing"
)

// metrics are the data plane's counters. Every way in which a request can end
// has one; label values come from closed sets, model names up to a limit.
type metrics struct {
	requests  *prometheus.CounterVec // route, pool, status
	duration  *prometheus.HistogramVec
	ttft      *prometheus.HistogramVec
	itl       *prometheus.HistogramVec
	tokens    *prometheus.CounterVec // pool, model, kind, source
	refusals  *prometheus.CounterVec // reason
	framings  *prometheus.CounterVec // fault
	retries   *prometheus.CounterVec // pool, reason
	failures  *prometheus.CounterVec // pool, phase
	choices   *prometheus.CounterVec // pool, reason
	streamEnd *prometheus.CounterVec // reason
	stripped  prometheus.Counter
	surplus   prometheus.Counter
	panics    prometheus.Counter
	aborted   prometheus.Counter

	maxModels int
	mu        sync.Mutex // guards models
	models    map[string]bool
	cached    sync.Map // handleKey -> *handles
}

// handles are the children that one (route, pool, model) needs, looked up once.
type handles struct {
	ttft, itl, duration prometheus.Observer
	prompt, completion  [2]prometheus.Counter // by source: engine, estimated
	cachedTokens        prometheus.Counter
	byStatus            sync.Map // int -> prometheus.Counter
}

type handleKey struct{ route, pool, model string }

// Buckets: TTFT from a cached prompt's milliseconds to a long prefill's minutes;
// ITL around the tens of milliseconds of a decode step.
var (
	ttftBuckets     = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	itlBuckets      = []float64{.001, .0025, .005, .01, .015, .02, .03, .05, .075, .1, .25, .5, 1, 5}
	durationBuckets = []float64{.001, .005, .025, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800}
)

func newMetrics(reg prometheus.Registerer, maxModels int) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	single := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		maxModels: maxModels, models: map[string]bool{},
		requests:  counter("penstock_requests_total", "Requests by route, pool and status (499: client left).", "route", "pool", "status"),
		duration:  histogram("penstock_request_duration_seconds", "From the request's last byte to the answer's.", durationBuckets, "route", "pool"),
		ttft:      histogram("penstock_ttft_seconds", "From the request's last byte to the first event of a streamed answer.", ttftBuckets, "pool", "model"),
		itl:       histogram("penstock_itl_seconds", "Between output events of a stream, as they passed through.", itlBuckets, "pool", "model"),
		tokens:    counter("penstock_tokens_total", "Tokens; source says whether the engine reported or the gateway estimated them.", "pool", "model", "kind", "source"),
		refusals:  counter("penstock_refusals_total", "Requests answered by the gateway itself with an error.", "reason"),
		framings:  counter("penstock_framing_refused_total", "Request heads refused, by fault.", "fault"),
		retries:   counter("penstock_retries_total", "Attempts repeated on another replica, and repetitions denied.", "pool", "reason"),
		failures:  counter("penstock_attempt_failures_total", "Failed attempts by the phase in which they failed.", "pool", "phase"),
		choices:   counter("penstock_choices_total", "Choices of a replica by reason.", "pool", "reason"),
		streamEnd: counter("penstock_streams_cut_total", "Streams that ended before their end, by reason.", "reason"),
		stripped:  single("penstock_injection_fields_stripped_total", "Body members taken out because the caller is not trusted with them."),
		surplus:   single("penstock_upstream_surplus_total", "Answers followed by bytes that belonged to no request."),
		aborted:   single("penstock_engine_aborted_answers_total", "Answers that the engine gave up with finish_reason abort and status 200, as vLLM does while it drains."),
		panics:    single("penstock_panics_total", "Requests that ended in a recovered panic."),
	}
	reg.MustRegister(m.requests, m.duration, m.ttft, m.itl, m.tokens, m.refusals, m.framings, m.retries,
		m.failures, m.choices, m.streamEnd, m.stripped, m.surplus, m.panics, m.aborted)
	return m
}

func (m *metrics) refused(code string)    { m.refusals.WithLabelValues(code).Inc() }
func (m *metrics) framing(f framingFault) { m.framings.WithLabelValues(string(f)).Inc() }

// chosen counts a choice by its reason.
func (m *metrics) chosen(be *backend, why routing.Reason) {
	if int(why) >= len(be.chosen) {
		return
	}
	c := be.chosen[why].Load()
	if c == nil {
		counter := m.choices.WithLabelValues(be.cfg.Name, why.String())
		c = &counter
		be.chosen[why].Store(c)
	}
	(*c).Inc()
}

// modelLabel keeps the number of model names bounded: clients choose them. A name
// that no engine has answered to gets no label of its own.
func (m *metrics) modelLabel(model string, served bool) string {
	if model == "" {
		return "none"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.models[model] {
		return model
	}
	if !served || len(m.models) >= m.maxModels {
		return "other"
	}
	m.models[model] = true
	return model
}

func (m *metrics) handles(r *record, served bool) *handles {
	key := handleKey{model: r.model}
	if r.route != nil {
		key.route = r.route.name
	}
	if r.be != nil {
		key.pool = r.be.cfg.Name
	}
	if h, ok := m.cached.Load(key); ok {
		return h.(*handles)
	}
	model := m.modelLabel(r.model, served)
	if model == "other" {
		key.model = "\x00other" // one entry for all invented names
	}
	h := &handles{
		ttft: m.ttft.WithLabelValues(key.pool, model), itl: m.itl.WithLabelValues(key.pool, model),
		duration:     m.duration.WithLabelValues(key.route, key.pool),
		cachedTokens: m.tokens.WithLabelValues(key.pool, model, "cached", "engine"),
	}
	for i, source := range [...]string{"engine", "estimated"} {
		h.prompt[i] = m.tokens.WithLabelValues(key.pool, model, "prompt", source)
		h.completion[i] = m.tokens.WithLabelValues(key.pool, model, "completion", source)
	}
	actual, _ := m.cached.LoadOrStore(key, h)
	return actual.(*handles)
}

func (m *metrics) status(h *handles, r *record) prometheus.Counter {
	if c, ok := h.byStatus.Load(r.status); ok {
		return c.(prometheus.Counter)
	}
	label := strconv.Itoa(r.status)
	if r.status < 100 || r.status > 599 {
		label = "invalid"
	}
	route, pool := "none", ""
	if r.route != nil {
		route = r.route.name
	}
	if r.be != nil {
		pool = r.be.cfg.Name
	}
	c := m.requests.WithLabelValues(route, pool, label)
	h.byStatus.Store(r.status, c)
	return c
}

// settled counts a request that has ended.
func (m *metrics) settled(r *record) {
	h := m.handles(r, r.status < 400)
	m.status(h, r).Inc()
	h.duration.Observe(r.ended.Sub(r.started).Seconds())
	if r.code != "" {
		if r.relayed {
			m.streamEnd.WithLabelValues(r.code).Inc()
		} else {
			m.refused(r.code)
		}
	}
	if r.route == nil || !r.route.has(flagGenerates) || r.be == nil {
		return
	}
	if r.relayed && r.stream && !r.firstByte.IsZero() {
		h.ttft.Observe(r.firstByte.Sub(r.started).Seconds())
	}
	source := 0
	if !r.usage.Known {
		source = 1
	}
	h.prompt[source].Add(float64(r.usage.Prompt))
	h.completion[source].Add(float64(r.usage.Completion))
	h.cachedTokens.Add(float64(r.usage.Cached))
}

// gap records the time between output events; n events that came together share
// it.
func (m *metrics) gap(itl prometheus.Observer, d time.Duration, n int64) {
	itl.Observe(d.Seconds() / float64(n))
}
