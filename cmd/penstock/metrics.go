package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"penstock/proxy/listen"
)

// appMetrics are about the process rather than about requests.
type appMetrics struct {
	reloads *prometheus.CounterVec
	last    prometheus.Gauge
	good    prometheus.Gauge
}

func newAppMetrics(reg prometheus.Registerer, a *app) *appMetrics {
	m := &appMetrics{
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_config_reloads_total", Help: "Configuration reloads by result.",
		}, []string{"result"}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "penstock_config_reload_timestamp_seconds", Help: "When the configuration in force was applied.",
		}),
		good: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "penstock_config_reload_successful", Help: "1 if the last reload worked, 0 if the old configuration stays in force.",
		}),
	}
	m.good.Set(1)
	m.last.SetToCurrentTime()
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "penstock_build_info", Help: "Always 1; the version is a label.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
	reg.MustRegister(m.reloads, m.last, m.good, build, &socketCollector{a})
	return m
}

func (m *appMetrics) reloaded(err error, at time.Time) {
	if err != nil {
		m.reloads.WithLabelValues("failed").Inc()
		m.good.Set(0)
		return
	}
	m.reloads.WithLabelValues("applied").Inc()
	m.good.Set(1)
	m.last.Set(float64(at.Unix()))
}

// socketCollector reads the counters of the data listener.
type socketCollector struct{ a *app }

var (
	connectionsDesc = prometheus.NewDesc("penstock_client_connections", "Client connections open.", nil, nil)
	acceptedDesc    = prometheus.NewDesc("penstock_client_connections_accepted_total", "Client connections accepted.", nil, nil)
	rejectedDesc    = prometheus.NewDesc("penstock_client_connections_rejected_total", "Client connections refused, by reason.", []string{"reason"}, nil)
	acceptErrDesc   = prometheus.NewDesc("penstock_accept_errors_total", "Failed accepts.", nil, nil)
	certDesc        = prometheus.NewDesc("penstock_certificate_expiry_timestamp_seconds", "When the certificate in use expires.", nil, nil)
	handshakeDesc   = prometheus.NewDesc("penstock_tls_handshake_failures_total", "Connections that never got past the TLS handshake.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *socketCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connectionsDesc, acceptedDesc, rejectedDesc, acceptErrDesc, certDesc, handshakeDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *socketCollector) Collect(ch chan<- prometheus.Metric) {
	if c.a.data == nil {
		return
	}
	s := c.a.data.Stats()
	ch <- prometheus.MustNewConstMetric(connectionsDesc, prometheus.GaugeValue, float64(s.Open))
	ch <- prometheus.MustNewConstMetric(acceptedDesc, prometheus.CounterValue, float64(s.Accepted))
	ch <- prometheus.MustNewConstMetric(acceptErrDesc, prometheus.CounterValue, float64(s.AcceptErrors))
	for r := range listen.Reasons {
		ch <- prometheus.MustNewConstMetric(rejectedDesc, prometheus.CounterValue, float64(s.Rejected[r]), r.String())
	}
	if t := c.a.dataTLS; t != nil {
		ts := t.Stats()
		ch <- prometheus.MustNewConstMetric(certDesc, prometheus.GaugeValue, float64(ts.NotAfter.Unix()))
		ch <- prometheus.MustNewConstMetric(handshakeDesc, prometheus.CounterValue, float64(ts.HandshakeFailures))
	}
}
