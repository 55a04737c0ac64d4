package proxy

import (
	"github.com/prometheus/client_golang/prometheus"

	"penstock/pools"
	"penstock/proxy/upstream"
)

// collector exports what is read at scrape time rather than counted on the way.
type collector struct {
	s     *Server
	descs map[string]*prometheus.Desc
}

func newCollector(s *Server) *collector {
	c := &collector{s: s, descs: map[string]*prometheus.Desc{}}
	for _, d := range []struct {
		name, help string
		labels     []string
	}{
		{"penstock_in_flight_requests", "Requests begun and not settled, streams included.", nil},
		{"penstock_body_bytes", "Request bytes held in memory.", nil},
		{"penstock_streams", "Answers being relayed.", nil},
		{"penstock_stored_responses", "Stored responses whose replica is remembered.", nil},
		{"penstock_access_log_dropped_total", "Access log lines dropped because the writer was too slow.", nil},
		{"penstock_upstream_dials_total", "Connections opened to a replica.", []string{"pool", "replica"}},
		{"penstock_upstream_dial_errors_total", "Connections to a replica that could not be opened.", []string{"pool", "replica"}},
		{"penstock_upstream_reuses_total", "Requests sent on a kept-alive connection.", []string{"pool", "replica"}},
		{"penstock_upstream_stale_replays_total", "Requests repeated because a reused connection was dead.", []string{"pool", "replica"}},
		{"penstock_upstream_closed_idle_total", "Idle connections found closed by the engine.", []string{"pool", "replica"}},
		{"penstock_upstream_poisoned_total", "Idle connections found with bytes that belong to no request.", []string{"pool", "replica"}},
		{"penstock_upstream_idle_connections", "Kept-alive connections to a replica.", []string{"pool", "replica"}},
		{"penstock_client_watch_gone_total", "Clients seen to leave.", nil},
		{"penstock_client_watch_cancelled_total", "Requests cancelled because their client left.", nil},
	} {
		c.descs[d.name] = prometheus.NewDesc(d.name, d.help, d.labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(name string, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(c.descs[name], prometheus.GaugeValue, v, labels...)
	}
	counter := func(name string, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(c.descs[name], prometheus.CounterValue, float64(v), labels...)
	}
	s := c.s
	gauge("penstock_in_flight_requests", float64(s.inFlight.Load()))
	gauge("penstock_body_bytes", float64(s.bodyBytes.Load()))
	gauge("penstock_streams", float64(s.relay.Active()))
	gauge("penstock_stored_responses", float64(s.sessions.len()))
	if s.access != nil {
		counter("penstock_access_log_dropped_total", s.access.dropped.Load())
	}
	if s.watcher != nil {
		w := s.watcher.Stats()
		counter("penstock_client_watch_gone_total", w.Gone)
		counter("penstock_client_watch_cancelled_total", w.Cancelled)
	}
	for _, be := range s.state.Load().backends {
		pool := be.cfg.Name
		sums := map[pools.ReplicaID]upstream.Stats{}
		be.targets.each(func(id pools.ReplicaID, t *upstream.Target) { sums[id] = t.Stats() })
		for id, st := range sums {
			r := string(id)
			counter("penstock_upstream_dials_total", st.Dials, pool, r)
			counter("penstock_upstream_dial_errors_total", st.DialErrors, pool, r)
			counter("penstock_upstream_reuses_total", st.Reuses, pool, r)
			counter("penstock_upstream_stale_replays_total", st.StaleReplays, pool, r)
			counter("penstock_upstream_closed_idle_total", st.ClosedIdle, pool, r)
			counter("penstock_upstream_poisoned_total", st.Poisoned, pool, r)
			gauge("penstock_upstream_idle_connections", float64(st.Idle), pool, r)
		}
	}
}
