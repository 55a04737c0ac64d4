package enginesim

import (
	"net/http"
	"strconv"
	"time"

	"penstock/bench/enginesim/core"
)

// serveLoads is SGLang's /v1/loads, the core section.
func serveLoads(x *exchange) error {
	s := x.s
	only := -1
	if v := x.r.URL.Query().Get("dp_rank"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n >= len(s.ranks) {
			return badRequest("Invalid dp_rank: %s", v)
		}
		only = n
	}
	now := s.cfg.Now()
	loads := []map[string]any{}
	for _, r := range s.ranks {
		if only >= 0 && r.rank != only {
			continue
		}
		loads = append(loads, loadOf(r, &s.cfg, now))
	}
	x.status(http.StatusOK, mustJSON(map[string]any{
		"timestamp": now.UTC().Format("2006-01-02T15:04:05.000000-07:00"), "version": s.cfg.Version,
		"accelerator": nil, "num_accelerators": 1, "loads": loads,
	}))
	return nil
}

func loadOf(r *runner, cfg *Config, now time.Time) map[string]any {
	c := r.snapshot()
	size := cfg.Engine.BlockSize
	used := c.BlocksUsed * size
	return map[string]any{
		"timestamp": float64(now.UnixNano()) / 1e9, "dp_rank": r.rank,
		"num_running_reqs": c.Running, "num_waiting_reqs": c.Waiting,
		"num_waiting_uncached_tokens": c.WaitingTokens,
		"num_used_tokens":             used, "num_total_tokens": used + c.WaitingTokens, "num_active_tokens": used + c.WaitingTokens,
		"num_prealloc_ready_tokens": 0,
		"max_total_num_tokens":      c.BlocksTotal * size, "max_running_requests": cfg.Engine.MaxSeqs,
		"token_usage":    float64(c.BlocksUsed) / float64(c.BlocksTotal),
		"gen_throughput": throughput(&rankState{snap: c}), "cache_hit_rate": hitShare(&c),
		"utilization":                   float64(c.Running) / float64(cfg.Engine.MaxSeqs),
		"total_prefill_uncached_tokens": c.PrefixQueries - c.PrefixHits,
		"total_prefill_busy_us":         c.Busy.Microseconds(), "decode_moments": nil,
	}
}

// history is the record of iterations that TensorRT-LLM's /metrics hands out,
// each once. The oldest are dropped when nobody reads.
type history struct {
	entries []map[string]any
	news    chan struct{} // capacity 1
	steps   int64
}

// historySize is how many unread iterations are kept.
const historySize = 1000

func newHistory() *history { return &history{news: make(chan struct{}, 1)} }

// add records the iteration that ended, if one did. The runner's lock is held.
func (h *history) add(c *core.Snapshot, blockSize int) {
	if c.Steps == h.steps {
		return
	}
	h.steps = c.Steps
	if len(h.entries) >= historySize {
		copy(h.entries, h.entries[1:])
		h.entries = h.entries[:len(h.entries)-1]
	}
	h.entries = append(h.entries, map[string]any{
		"iter": c.Steps, "iterLatencyMS": float64(c.Last.Took.Microseconds()) / 1000,
		"numActiveRequests": c.Running, "numQueuedRequests": c.Waiting, "numCompletedRequests": c.Completed,
		"maxNumActiveRequests": c.MaxRunning,
		"kvCacheStats": map[string]any{
			"maxNumBlocks": c.BlocksTotal, "usedNumBlocks": c.BlocksUsed, "freeNumBlocks": c.BlocksTotal - c.BlocksUsed,
			"tokensPerBlock": blockSize, "cacheHitRate": hitShare(c),
		},
		"inflightBatchingStats": map[string]any{
			"numScheduledRequests": c.Running, "numContextRequests": c.Running - c.Decoding, "numGenRequests": c.Decoding,
			"numCtxTokens": c.Last.PrefillTokens, "numPausedRequests": 0, "microBatchId": 0,
		},
	})
	select {
	case h.news <- struct{}{}:
	default:
	}
}

func (r *runner) takeHistory() []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries := r.history.entries
	r.history.entries = nil
	return entries
}

// serveIterations is TensorRT-LLM's /metrics: a destructive read that waits a
// moment for news.
func serveIterations(x *exchange) error {
	r := x.s.ranks[0]
	timer := time.NewTimer(x.s.cfg.MetricsWait)
	defer timer.Stop()
	entries := r.takeHistory()
	for len(entries) == 0 {
		select {
		case <-r.history.news:
			entries = r.takeHistory()
			continue
		case <-timer.C:
		case <-x.left:
			return errEnded
		case <-x.s.closing:
			return errEnded
		}
		break
	}
	if entries == nil {
		entries = []map[string]any{}
	}
	x.status(http.StatusOK, mustJSON(entries))
	return nil
}
