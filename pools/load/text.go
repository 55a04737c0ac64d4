package load

import (
	"bytes"
	"math"
	"strconv"
)

// gauge says what a series of an engine tells.
type gauge uint8

const (
	gaugeRunning gauge = iota
	gaugeWaiting
	gaugeUsage
	gauges // how many there are
)

// series maps the names of all engines. They are distinct, so one table serves
// for every kind and for servers of unknown make that export one of these.
var series = map[string]gauge{
	"vllm:num_requests_running":     gaugeRunning,
	"vllm:num_requests_waiting":     gaugeWaiting,
	"vllm:kv_cache_usage_perc":      gaugeUsage,
	"vllm:gpu_cache_usage_perc":     gaugeUsage, // before it was renamed
	"sglang:num_running_reqs":       gaugeRunning,
	"sglang:num_queue_reqs":         gaugeWaiting,
	"sglang:token_usage":            gaugeUsage,
	"trtllm_num_requests_running":   gaugeRunning,
	"trtllm_num_requests_waiting":   gaugeWaiting,
	"trtllm_kv_cache_utilization":   gaugeUsage,
	"llamacpp:requests_processing":  gaugeRunning,
	"llamacpp:requests_deferred":    gaugeWaiting,
	"llamacpp:kv_cache_usage_ratio": gaugeUsage,
	"tgi_batch_current_size":        gaugeRunning,
	"tgi_queue_size":                gaugeWaiting,
}

// sums collects the series of one answer: one per data-parallel engine.
type sums struct {
	total [gauges]float64
	count [gauges]int
}

func (s *sums) add(g gauge, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return
	}
	s.total[g] += v
	s.count[g]++
}

// scanText reads the Prometheus text format, looking only at the names in the
// table. A line that it cannot read is skipped: the rest of the page is as good
// as before. It does work in proportion to the page and keeps nothing of it.
func scanText(page []byte) sums {
	var s sums
	for len(page) > 0 {
		line := page
		if i := bytes.IndexByte(page, '\n'); i >= 0 {
			line, page = page[:i], page[i+1:]
		} else {
			page = nil
		}
		if g, v, ok := scanLine(line); ok {
			s.add(g, v)
		}
	}
	return s
}

// scanLine reads "name{labels} value [timestamp]".
func scanLine(line []byte) (g gauge, v float64, ok bool) {
	line = bytes.TrimLeft(line, " \t")
	end := bytes.IndexAny(line, "{ \t")
	if end <= 0 || line[0] == '#' {
		return 0, 0, false
	}
	g, ok = series[string(line[:end])]
	if !ok {
		return 0, 0, false
	}
	rest := line[end:]
	if rest[0] == '{' {
		n := labelsEnd(rest)
		if n < 0 {
			return 0, 0, false
		}
		rest = rest[n:]
	}
	rest = bytes.Trim(rest, " \t\r")
	if i := bytes.IndexAny(rest, " \t"); i >= 0 {
		rest = rest[:i] // a timestamp follows
	}
	v, err := strconv.ParseFloat(string(rest), 64)
	return g, v, err == nil
}

// labelsEnd returns the length of a label block, -1 when it does not end. A
// brace within quotes does not end it.
func labelsEnd(b []byte) int {
	quoted := false
	for i := 1; i < len(b); i++ {
		switch {
		case quoted && b[i] == '\\':
			i++
		case b[i] == '"':
			quoted = !quoted
		case b[i] == '}' && !quoted:
			return i + 1
		}
	}
	return -1
}
