package pools

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Collector exports a fleet to Prometheus. It keeps nothing of its own, so a
// replica that left is gone from the next scrape.
type Collector struct {
	fleet *Fleet

	inFlight, tokens, state, breaker, ramp, weight     *prometheus.Desc
	running, waiting, kvUsage, loadAge                 *prometheus.Desc
	changes, panics, panicking, lastStand, sinceChange *prometheus.Desc
	probes, readings                                   *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns the collector of a fleet.
func NewCollector(f *Fleet) *Collector {
	replica := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("penstock_"+name, help, append([]string{"pool", "replica"}, more...), nil)
	}
	pool := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("penstock_"+name, help, append([]string{"pool"}, more...), nil)
	}
	return &Collector{
		fleet:       f,
		inFlight:    replica("replica_in_flight_requests", "Requests this gateway has on the replica."),
		tokens:      replica("replica_tokens", "Prompt and output tokens reserved on the replica and not settled yet."),
		state:       replica("replica_state", "1 for the state the replica is in.", "state"),
		breaker:     replica("replica_breaker_state", "1 for the state its breaker is in.", "state"),
		ramp:        replica("replica_ramp", "Share of its weight that the replica gets during slow start, 0 to 1."),
		weight:      replica("replica_weight", "Configured weight."),
		sinceChange: replica("replica_state_seconds", "Time in the present state."),
		running:     replica("replica_engine_running_requests", "Requests that the engine says it runs."),
		waiting:     replica("replica_engine_waiting_requests", "Requests that the engine says wait."),
		kvUsage:     replica("replica_engine_kv_usage", "Share of the KV cache in use as the engine says, 0 to 1."),
		loadAge:     replica("replica_engine_load_age_seconds", "Age of the engine's last reading."),
		changes:     pool("pool_state_changes_total", "Changes of state of replicas by the new state.", "state"),
		panics:      pool("pool_panics_total", "Times that too few replicas were usable."),
		panicking:   pool("pool_panic", "1 while health is ignored because too few replicas are usable."),
		probes:      pool("pool_probes_total", "Active health probes by result.", "result"),
		readings:    pool("pool_load_readings_total", "Readings of engines' own load by result.", "result"),
		lastStand:   pool("pool_breaker_held_total", "Times a breaker stayed closed because no other replica was usable."),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.inFlight, c.tokens, c.state, c.breaker, c.ramp, c.weight, c.sinceChange,
		c.running, c.waiting, c.kvUsage, c.loadAge, c.changes, c.panics, c.panicking, c.lastStand,
		c.probes, c.readings,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.fleet.Pools() {
		c.pool(ch, s)
		now := s.now()
		for _, r := range s.Snapshot() {
			c.replica(ch, &r)
			gauge(ch, c.sinceChange, max(0, now.Sub(r.Since).Seconds()), r.Pool, string(r.ID))
		}
	}
}

func (c *Collector) pool(ch chan<- prometheus.Metric, s *Set) {
	for st := range s.counts.changes {
		counter(ch, c.changes, s.counts.changes[st].Load(), s.name, State(st).String())
	}
	counter(ch, c.panics, s.counts.panics.Load(), s.name)
	counter(ch, c.lastStand, s.counts.lastStand.Load(), s.name)
	for i, result := range []string{"failed", "ok"} {
		counter(ch, c.probes, s.counts.probes[i].Load(), s.name, result)
		counter(ch, c.readings, s.counts.readings[i].Load(), s.name, result)
	}
	gauge(ch, c.panicking, truth(s.View().Panic), s.name)
}

// breakerStates lists what breaker.label returns.
var breakerStates = []string{"off", "closed", "open", "half_open"}

func (c *Collector) replica(ch chan<- prometheus.Metric, r *Status) {
	id := string(r.ID)
	gauge(ch, c.inFlight, float64(r.InFlight), r.Pool, id)
	gauge(ch, c.tokens, float64(r.Tokens), r.Pool, id)
	gauge(ch, c.ramp, r.Ramp, r.Pool, id)
	gauge(ch, c.weight, float64(r.Weight), r.Pool, id)
	for st := StatePending; st <= StateDraining; st++ {
		gauge(ch, c.state, truth(st.String() == r.State), r.Pool, id, st.String())
	}
	for _, st := range breakerStates {
		gauge(ch, c.breaker, truth(st == r.Breaker), r.Pool, id, st)
	}
	if r.LoadAgeSeconds >= 0 {
		gauge(ch, c.loadAge, r.LoadAgeSeconds, r.Pool, id)
	}
	if r.Running >= 0 { // absent rather than -1: a sum over replicas must stay one
		gauge(ch, c.running, float64(r.Running), r.Pool, id)
	}
	if r.Waiting >= 0 {
		gauge(ch, c.waiting, float64(r.Waiting), r.Pool, id)
	}
	if r.KVUsage >= 0 {
		gauge(ch, c.kvUsage, r.KVUsage, r.Pool, id)
	}
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v uint64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
