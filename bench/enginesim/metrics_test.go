package enginesim

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^{}]*\})? (\S+)$`)

// scrape reads an exposition strictly and sums samples by name.
func scrape(t *testing.T, text string) map[string]float64 {
	t.Helper()
	sums := map[string]float64{}
	types := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			if types[rest] {
				t.Errorf("family announced twice: %s", rest)
			}
			types[rest] = true
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no sample: %q", line)
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		sums[m[1]] += v
	}
	return sums
}

func TestMetricsCountWhatHappened(t *testing.T) {
	t.Parallel()
	prompt := `{"model":"m","prompt":[` + strings.TrimSuffix(strings.Repeat("7,", 65), ",") + `],"max_tokens":3,"ignore_eos":true}`
	for d, c := range map[Dialect]struct {
		path string
		want map[string]float64
	}{
		VLLM: {"/metrics", map[string]float64{
			"vllm:prompt_tokens_total": 130, "vllm:generation_tokens_total": 6,
			"vllm:prefix_cache_queries_total": 130, "vllm:prefix_cache_hits_total": 64,
			"vllm:request_success_total": 2, "vllm:time_to_first_token_seconds_count": 2,
			"vllm:inter_token_latency_seconds_count": 4, "vllm:num_requests_running": 0,
			"vllm:kv_cache_usage_perc": 0, "vllm:cache_config_info": 2, "vllm:num_preemptions_total": 0,
		}},
		SGLang: {"/metrics", map[string]float64{
			"sglang:prompt_tokens_total": 130, "sglang:cached_tokens_total": 64, "sglang:num_requests_total": 2,
			"sglang:num_running_reqs": 0, "sglang:num_queue_reqs": 0, "sglang:max_total_num_tokens": 2 * 8192 * 16,
		}},
		TRTLLM: {"/prometheus/metrics", map[string]float64{
			"trtllm_num_requests_running": 0, "trtllm_kv_cache_tokens_per_block": 64, "trtllm_request_success_total": 2,
			"trtllm_kv_cache_max_blocks": 2 * 4096,
		}},
	} {
		cfg := instant(d)
		cfg.Ranks = 2 // idle ranks: both requests go to the first
		s := start(t, cfg)
		for range 2 {
			if r := s.post("/v1/completions", prompt); r.status != 200 {
				t.Fatalf("%s: %d %s", d, r.status, r.body)
			}
		}
		got := scrape(t, s.ask("GET", c.path, "").body)
		for name, want := range c.want {
			if v, ok := got[name]; !ok || v != want {
				t.Errorf("%s: %s is %v (present: %v), want %v", d, name, v, ok, want)
			}
		}
	}
}

func TestIterationStatsAreHandedOutOnce(t *testing.T) {
	t.Parallel()
	cfg := instant(TRTLLM)
	cfg.MetricsWait = 0
	s := start(t, cfg)
	s.post("/v1/completions", `{"model":"m","prompt":[1,2,3],"max_tokens":4,"ignore_eos":true}`)
	var stats []struct {
		Iter         int64
		KVCacheStats struct{ MaxNumBlocks int }
	}
	if err := json.Unmarshal([]byte(s.ask("GET", "/metrics", "").body), &stats); err != nil {
		t.Fatal(err)
	}
	if len(stats) != 4 || stats[3].Iter != 4 || stats[0].KVCacheStats.MaxNumBlocks != 4096 {
		t.Errorf("iterations %+v, want four", stats)
	}
	if again := s.ask("GET", "/metrics", "").body; again != "[]" {
		t.Errorf("a second read gave %s", again)
	}
}

func TestLoadsOfEachRank(t *testing.T) {
	t.Parallel()
	cfg := instant(SGLang)
	cfg.Ranks = 2
	s := start(t, cfg)
	var v struct {
		Loads []struct {
			DPRank          int  `json:"dp_rank"`
			MaxTotalTokens  int  `json:"max_total_num_tokens"`
			MaxRunningReqs  int  `json:"max_running_requests"`
			NumRunningReqs  *int `json:"num_running_reqs"`
			WaitingUncached *int `json:"num_waiting_uncached_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(s.ask("GET", "/v1/loads", "").body), &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Loads) != 2 || v.Loads[1].DPRank != 1 || v.Loads[0].MaxTotalTokens != 8192*16 || v.Loads[0].NumRunningReqs == nil || v.Loads[0].WaitingUncached == nil {
		t.Errorf("%+v", v)
	}
	if r := s.ask("GET", "/v1/loads?dp_rank=7", ""); r.status != 400 {
		t.Errorf("rank 7 of 2: %d", r.status)
	}
}

func TestFlushCache(t *testing.T) {
	t.Parallel()
	s := start(t, instant(SGLang))
	s.post("/v1/completions", `{"model":"m","prompt":"`+strings.Repeat("word ", 40)+`","max_tokens":1}`)
	if s.Stats().BlocksCached == 0 {
		t.Fatal("nothing cached")
	}
	if r := s.post("/flush_cache", ""); r.status != 200 || s.Stats().BlocksCached != 0 {
		t.Errorf("%d, %d blocks cached", r.status, s.Stats().BlocksCached)
	}
}
