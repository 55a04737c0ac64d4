//go:build linux

package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Footprint is what a gateway holds at one moment.
type Footprint struct {
	Goroutines  int     // without the admin listener's and idle workers
	Files       int     // descriptors
	Resident    int64   // bytes
	InFlight    float64 // requests begun and not settled
	Leases      float64 // over all replicas
	Tokens      float64 // reserved over all replicas
	Streams     float64
	BodyBytes   float64
	Connections float64 // of clients
	Panics      float64
}

// Footprint reads what the gateway holds.
func (g *Gateway) Footprint(ctx context.Context) (Footprint, error) {
	m, err := g.Metrics(ctx)
	if err != nil {
		return Footprint{}, err
	}
	f := Footprint{
		InFlight: m.Sum("penstock_in_flight_requests"), Leases: m.Sum("penstock_replica_in_flight_requests"),
		Tokens: m.Sum("penstock_replica_tokens"), Streams: m.Sum("penstock_streams"),
		BodyBytes: m.Sum("penstock_body_bytes"), Connections: m.Sum("penstock_client_connections"),
		Panics: m.Sum("penstock_panics_total"),
	}
	profile, err := g.Get(ctx, "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return f, err
	}
	f.Goroutines = countGoroutines(profile)
	if f.Files, err = countFiles(g.Pid()); err != nil {
		return f, err
	}
	f.Resident, err = resident(g.Pid())
	return f, err
}

// Above lists in words what f holds that a gateway at rest does not, base being
// one that has just started; empty when there is nothing.
func (f *Footprint) Above(base Footprint) string {
	var over []string
	for _, x := range []struct {
		name       string
		is, should float64
	}{
		{"requests in flight", f.InFlight, 0},
		{"leases", f.Leases, 0},
		{"reserved tokens", f.Tokens, 0},
		{"streams", f.Streams, 0},
		{"body bytes", f.BodyBytes, 0},
		{"client connections", f.Connections, 0},
		{"panics", f.Panics, 0},
		{"goroutines", float64(f.Goroutines), float64(base.Goroutines)},
		{"descriptors", float64(f.Files), float64(base.Files)},
	} {
		if x.is > x.should {
			over = append(over, fmt.Sprintf("%g %s (want %g)", x.is, x.name, x.should))
		}
	}
	return strings.Join(over, ", ")
}

// Metrics are samples by their name with labels, as they were exposed.
type Metrics map[string]float64

// Metrics scrapes the gateway.
func (g *Gateway) Metrics(ctx context.Context) (Metrics, error) {
	text, err := g.Get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return parseMetrics(text), nil
}

func parseMetrics(text string) Metrics {
	m := Metrics{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 || line[0] == '#' {
			continue
		}
		if v, err := strconv.ParseFloat(line[cut+1:], 64); err == nil {
			m[line[:cut]] = v
		}
	}
	return m
}

// Sum adds the samples of a metric that carry all the labels, each given as
// name="value".
func (m Metrics) Sum(name string, labels ...string) float64 {
	var sum float64
next:
	for sample, v := range m {
		base, rest, _ := strings.Cut(sample, "{")
		if base != name {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue next
			}
		}
		sum += v
	}
	return sum
}

// adminTimeout bounds one question to the admin listener.
const adminTimeout = 20 * time.Second

// Get asks the admin listener for path on a connection of its own.
func (g *Gateway) Get(ctx context.Context, path string) (string, error) {
	status, body, err := g.Ask(ctx, http.MethodGet, path, "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("cannot get %s: status %d: %s", path, status, body)
	}
	return body, err
}

// Ask sends one request to the admin listener.
func (g *Gateway) Ask(ctx context.Context, method, path, body string) (int, string, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+g.Admin+path, strings.NewReader(body))
	if err != nil {
		return 0, "", fmt.Errorf("cannot ask the gateway: %w", err)
	}
	t := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("cannot ask the gateway: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", fmt.Errorf("cannot read the gateway's answer: %w", err)
	}
	return resp.StatusCode, string(text), nil
}

// countGoroutines reads a goroutine profile in its text form. Left out are the
// admin listener's connections, of which the question itself is one, and
// workers of the HTTP server that wait for a connection: fasthttp keeps those
// for ten seconds.
func countGoroutines(profile string) int {
	total := 0
	for group := range strings.SplitSeq(profile, "\n\n") {
		sc := bufio.NewScanner(strings.NewReader(group))
		n, frames := 0, []string(nil)
		for sc.Scan() {
			line := sc.Text()
			switch {
			case strings.HasPrefix(line, "#"):
				frames = append(frames, line)
			case strings.Contains(line, " @ "):
				n, _ = strconv.Atoi(strings.Fields(line)[0])
			}
		}
		if n > 0 && !ignored(frames) {
			total += n
		}
	}
	return total
}

func ignored(frames []string) bool {
	if len(frames) > 0 && strings.Contains(frames[0], "fasthttp.(*workerPool).workerFunc") {
		return true
	}
	for _, f := range frames {
		if strings.Contains(f, "net/http.(*conn).serve") || strings.Contains(f, "net/http.(*connReader).backgroundRead") {
			return true
		}
	}
	return false
}

func countFiles(pid int) (int, error) {
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return 0, fmt.Errorf("cannot count descriptors: %w", err)
	}
	return len(entries), nil
}

func resident(pid int) (int64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, fmt.Errorf("cannot read memory: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("cannot read memory from %q", text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read memory: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
