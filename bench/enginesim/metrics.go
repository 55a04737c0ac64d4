package enginesim

import (
	"net/http"
	"strconv"
	"strings"

	"penstock/bench/enginesim/core"
)

// exposition is Prometheus text in the making.
type exposition struct {
	b      []byte
	prefix string
	last   string // the family whose TYPE line stands
}

// labelled is one series of a family.
type labelled struct {
	labels string // without braces
	value  float64
}

func (e *exposition) family(name, kind string) string {
	full := e.prefix + name
	if e.last != full {
		e.b = append(e.b, "# HELP "+full+" "+strings.ReplaceAll(name, "_", " ")+".\n# TYPE "+full+" "+kind+"\n"...)
		e.last = full
	}
	return full
}

func (e *exposition) sample(name, labels string, v float64) {
	e.b = append(e.b, name...)
	if labels != "" {
		e.b = append(append(append(e.b, '{'), labels...), '}')
	}
	e.b = append(e.b, ' ')
	e.b = strconv.AppendFloat(e.b, v, 'g', -1, 64)
	if v == float64(int64(v)) && v < 1e15 {
		e.b = append(e.b, ".0"...) // as the Python client writes it
		e.fixExponent()
	}
	e.b = append(e.b, '\n')
}

// fixExponent keeps "1e+06.0" from being written: a value with an exponent
// needs no ".0".
func (e *exposition) fixExponent() {
	start := strings.LastIndexByte(string(e.b), ' ')
	if strings.ContainsRune(string(e.b[start:]), 'e') {
		e.b = e.b[:len(e.b)-2]
	}
}

func (e *exposition) gauge(name string, series ...labelled) {
	full := e.family(name, "gauge")
	for _, s := range series {
		e.sample(full, s.labels, s.value)
	}
}

// counter writes name with "_total", as the Python client does.
func (e *exposition) counter(name string, series ...labelled) {
	full := e.family(name+"_total", "counter")
	for _, s := range series {
		e.sample(full, s.labels, s.value)
	}
}

// histograms writes one histogram per rank.
func (e *exposition) histograms(name string, states []rankState, pick func(*meters) *histogram) {
	for i := range states {
		e.histogram(name, states[i].labels, pick(&states[i].meters))
	}
}

func (e *exposition) histogram(name, labels string, h *histogram) {
	full := e.family(name, "histogram")
	sum := uint64(0)
	for i, bound := range h.bounds {
		sum += h.counts[i]
		e.sample(full+"_bucket", labels+`,le="`+strconv.FormatFloat(bound, 'g', -1, 64)+`"`, float64(sum))
	}
	e.sample(full+"_bucket", labels+`,le="+Inf"`, float64(h.total))
	e.sample(full+"_count", labels, float64(h.total))
	e.sample(full+"_sum", labels, h.sum)
}

// rankState is one rank at one moment.
type rankState struct {
	labels string
	snap   core.Snapshot
	meters meters
}

func (s *Server) states(label func(rank int) string) []rankState {
	out := make([]rankState, 0, len(s.ranks))
	for _, r := range s.ranks {
		r.mu.Lock()
		out = append(out, rankState{labels: label(r.rank), snap: r.engine.Snapshot(), meters: r.meters.clone()})
		r.mu.Unlock()
	}
	return out
}

// each makes one series per rank.
func each(states []rankState, extra string, v func(*rankState) float64) []labelled {
	out := make([]labelled, 0, len(states))
	for i := range states {
		out = append(out, labelled{states[i].labels + extra, v(&states[i])})
	}
	return out
}

func (x *exchange) exposed(e *exposition) error {
	x.respond(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", e.b)
	return nil
}

// quoted escapes a label value.
func quoted(v string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(v)
}

func serveVLLMMetrics(x *exchange) error {
	cfg := &x.s.cfg
	model := quoted(cfg.Model)
	st := x.s.states(func(rank int) string {
		return `engine="` + strconv.Itoa(rank) + `",model_name="` + model + `"`
	})
	e := &exposition{prefix: "vllm:"}
	e.gauge("num_requests_running", each(st, "", func(r *rankState) float64 { return float64(r.snap.Running) })...)
	e.gauge("num_requests_waiting", each(st, "", func(r *rankState) float64 { return float64(r.snap.Waiting) })...)
	e.gauge("num_requests_waiting_by_reason", each(st, `,reason="capacity"`, func(r *rankState) float64 { return float64(r.snap.Waiting) })...)
	e.gauge("num_requests_waiting_by_reason", each(st, `,reason="deferred"`, func(*rankState) float64 { return 0 })...)
	e.gauge("kv_cache_usage_perc", each(st, "", usedShare)...)
	e.gauge("engine_sleep_state", each(st, `,sleep_state="awake"`, func(*rankState) float64 { return 1 })...)
	e.counter("prefix_cache_queries", each(st, "", func(r *rankState) float64 { return float64(r.snap.PrefixQueries) })...)
	e.counter("prefix_cache_hits", each(st, "", func(r *rankState) float64 { return float64(r.snap.PrefixHits - r.snap.HostHits) })...)
	e.counter("external_prefix_cache_queries", each(st, "", func(*rankState) float64 { return 0 })...)
	e.counter("external_prefix_cache_hits", each(st, "", func(*rankState) float64 { return 0 })...)
	e.counter("num_preemptions", each(st, "", func(r *rankState) float64 { return float64(r.snap.Preemptions) })...)
	e.counter("prompt_tokens", each(st, "", func(r *rankState) float64 { return float64(r.snap.PromptTokens) })...)
	e.counter("prompt_tokens_cached", each(st, "", func(r *rankState) float64 { return float64(r.meters.cachedTokens) })...)
	e.counter("prompt_tokens_by_source", each(st, `,source="local_compute"`, func(r *rankState) float64 {
		return float64(r.snap.PromptTokens) - float64(r.meters.cachedTokens)
	})...)
	e.counter("prompt_tokens_by_source", each(st, `,source="local_cache_hit"`, func(r *rankState) float64 { return float64(r.meters.cachedTokens) })...)
	e.counter("generation_tokens", each(st, "", func(r *rankState) float64 { return float64(r.snap.OutputTokens) })...)
	for _, f := range []core.Finish{core.FinishStop, core.FinishLength, core.FinishAbort} {
		e.counter("request_success", each(st, `,finished_reason="`+f.String()+`"`, func(r *rankState) float64 { return float64(r.meters.success[f]) })...)
	}
	e.histograms("time_to_first_token_seconds", st, func(m *meters) *histogram { return &m.ttft })
	e.histograms("inter_token_latency_seconds", st, func(m *meters) *histogram { return &m.itl })
	e.histograms("e2e_request_latency_seconds", st, func(m *meters) *histogram { return &m.e2e })
	e.histograms("request_queue_time_seconds", st, func(m *meters) *histogram { return &m.queue })
	e.histograms("request_prefill_time_seconds", st, func(m *meters) *histogram { return &m.prefill })
	e.histograms("request_decode_time_seconds", st, func(m *meters) *histogram { return &m.decode })
	e.histograms("request_prompt_tokens", st, func(m *meters) *histogram { return &m.promptLen })
	e.histograms("request_generation_tokens", st, func(m *meters) *histogram { return &m.outputLen })
	for i := range st {
		e.gauge("cache_config_info", labelled{`block_size="` + strconv.Itoa(cfg.Engine.BlockSize) +
			`",enable_prefix_caching="` + pythonBool(!cfg.Engine.NoCaching) + `",engine="` + strconv.Itoa(i) +
			`",num_gpu_blocks="` + strconv.Itoa(cfg.Engine.Blocks) + `"`, 1})
	}
	return x.exposed(e)
}

func pythonBool(v bool) string {
	if v {
		return "True"
	}
	return "False"
}

func usedShare(r *rankState) float64 { return float64(r.snap.BlocksUsed) / float64(r.snap.BlocksTotal) }

func hitShare(s *core.Snapshot) float64 {
	if s.PrefixQueries == 0 {
		return 0
	}
	return float64(s.PrefixHits) / float64(s.PrefixQueries)
}

func serveSGLangMetrics(x *exchange) error {
	cfg := &x.s.cfg
	size := float64(cfg.Engine.BlockSize)
	st := x.s.states(func(rank int) string {
		l := `engine_type="unified",model_name="` + quoted(cfg.Model) + `",moe_ep_rank="0",pp_rank="0",tp_rank="0"`
		if cfg.Ranks > 1 {
			l = `dp_rank="` + strconv.Itoa(rank) + `",` + l
		}
		return l
	})
	e := &exposition{prefix: "sglang:"}
	for _, g := range []struct {
		name string
		v    func(*rankState) float64
	}{
		{"num_running_reqs", func(r *rankState) float64 { return float64(r.snap.Running) }},
		{"num_queue_reqs", func(r *rankState) float64 { return float64(r.snap.Waiting) }},
		{"token_usage", usedShare},
		{"num_used_tokens", func(r *rankState) float64 { return float64(r.snap.BlocksUsed) * size }},
		{"max_total_num_tokens", func(r *rankState) float64 { return float64(r.snap.BlocksTotal) * size }},
		{"kv_used_tokens", func(r *rankState) float64 { return float64(r.snap.BlocksUsed) * size }},
		{"kv_evictable_tokens", func(r *rankState) float64 { return float64(r.snap.BlocksCached) * size }},
		{"kv_available_tokens", func(r *rankState) float64 {
			return float64(r.snap.BlocksTotal-r.snap.BlocksUsed-r.snap.BlocksCached) * size
		}},
		{"cache_hit_rate", func(r *rankState) float64 { return hitShare(&r.snap) }},
		{"gen_throughput", throughput},
		{"utilization", func(r *rankState) float64 { return float64(r.snap.Running) / float64(cfg.Engine.MaxSeqs) }},
		{"num_retracted_reqs", func(r *rankState) float64 { return float64(r.snap.Preemptions) }},
	} {
		e.gauge(g.name, each(st, "", g.v)...)
	}
	e.counter("prompt_tokens", each(st, "", func(r *rankState) float64 { return float64(r.snap.PromptTokens) })...)
	e.counter("generation_tokens", each(st, "", func(r *rankState) float64 { return float64(r.snap.OutputTokens) })...)
	e.counter("cached_tokens", each(st, "", func(r *rankState) float64 { return float64(r.meters.cachedTokens) })...)
	e.counter("num_requests", each(st, "", func(r *rankState) float64 { return float64(r.snap.Completed + r.snap.Aborted) })...)
	e.counter("num_aborted_requests", each(st, "", func(r *rankState) float64 { return float64(r.snap.Aborted) })...)
	e.histograms("time_to_first_token_seconds", st, func(m *meters) *histogram { return &m.ttft })
	e.histograms("inter_token_latency_seconds", st, func(m *meters) *histogram { return &m.itl })
	e.histograms("e2e_request_latency_seconds", st, func(m *meters) *histogram { return &m.e2e })
	e.histograms("queue_time_seconds", st, func(m *meters) *histogram { return &m.queue })
	return x.exposed(e)
}

// throughput is tokens per second of the last step.
func throughput(r *rankState) float64 {
	if r.snap.Last.Took <= 0 || r.snap.Running == 0 {
		return 0
	}
	return float64(r.snap.Last.Decodes) / r.snap.Last.Took.Seconds()
}

func serveTRTMetrics(x *exchange) error {
	cfg := &x.s.cfg
	st := x.s.states(func(int) string { return `engine_type="trtllm",model_name="` + quoted(cfg.Model) + `"` })
	e := &exposition{prefix: "trtllm_"}
	for _, g := range []struct {
		name string
		v    func(*rankState) float64
	}{
		{"num_requests_running", func(r *rankState) float64 { return float64(r.snap.Running) }},
		{"num_requests_waiting", func(r *rankState) float64 { return float64(r.snap.Waiting) }},
		{"max_num_active_requests", func(*rankState) float64 { return float64(cfg.Engine.MaxSeqs) }},
		{"kv_cache_utilization", usedShare},
		{"kv_cache_hit_rate", func(r *rankState) float64 { return hitShare(&r.snap) }},
		{"kv_cache_free_blocks", func(r *rankState) float64 { return float64(r.snap.BlocksTotal - r.snap.BlocksUsed) }},
		{"kv_cache_used_blocks", func(r *rankState) float64 { return float64(r.snap.BlocksUsed) }},
		{"kv_cache_max_blocks", func(r *rankState) float64 { return float64(r.snap.BlocksTotal) }},
		{"kv_cache_tokens_per_block", func(*rankState) float64 { return float64(cfg.Engine.BlockSize) }},
		{"num_context_requests", func(r *rankState) float64 { return float64(r.snap.Running - r.snap.Decoding) }},
		{"num_generation_requests", func(r *rankState) float64 { return float64(r.snap.Decoding) }},
	} {
		e.gauge(g.name, each(st, "", g.v)...)
	}
	for _, f := range []core.Finish{core.FinishStop, core.FinishLength} {
		e.counter("request_success", each(st, `,finished_reason="`+f.String()+`"`, func(r *rankState) float64 { return float64(r.meters.success[f]) })...)
	}
	e.counter("request_error", each(st, "", func(*rankState) float64 { return 0 })...)
	e.histograms("time_to_first_token_seconds", st, func(m *meters) *histogram { return &m.ttft })
	e.histograms("time_per_output_token_seconds", st, func(m *meters) *histogram { return &m.itl })
	e.histograms("e2e_request_latency_seconds", st, func(m *meters) *histogram { return &m.e2e })
	e.histograms("request_queue_time_seconds", st, func(m *meters) *histogram { return &m.queue })
	return x.exposed(e)
}
