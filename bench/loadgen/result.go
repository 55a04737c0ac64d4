package loadgen

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// lateLimit is the lateness at the 99th percentile beyond which a run measures
// the generator instead of the server.
const lateLimit = time.Millisecond

// longest is the largest value that a histogram holds, in µs.
const longest = int64(time.Hour / time.Microsecond)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest, 3) }

func record(h *hdrhistogram.Histogram, us int64) {
	_ = h.RecordValue(min(max(us, 0), longest)) // in range by construction
}

// Result is what a run measured. Latencies are of requests that succeeded.
type Result struct {
	Requests int
	OK       int
	Canceled int // interrupted with the run; in no other figure
	Errors   map[Kind]int
	Examples map[Kind]string // one error of each kind, in full
	Elapsed  time.Duration   // from the first intended send to the last answer

	PromptTokens int64 // as the engine's usage says
	CachedTokens int64
	OutputTokens int64
	WithinSLO    int // succeeded with TTFT inside Config.SLO

	ttft, itl, e2e, late *hdrhistogram.Histogram // µs
}

func newResult() *Result {
	return &Result{
		Errors: map[Kind]int{}, Examples: map[Kind]string{},
		ttft: newHistogram(), itl: newHistogram(), e2e: newHistogram(), late: newHistogram(),
	}
}

// Merge adds other to r.
func (r *Result) Merge(other *Result) {
	r.Requests += other.Requests
	r.OK += other.OK
	r.Canceled += other.Canceled
	r.PromptTokens += other.PromptTokens
	r.CachedTokens += other.CachedTokens
	r.OutputTokens += other.OutputTokens
	r.WithinSLO += other.WithinSLO
	r.Elapsed += other.Elapsed
	for k, n := range other.Errors {
		r.Errors[k] += n
	}
	for k, text := range other.Examples {
		if _, known := r.Examples[k]; !known {
			r.Examples[k] = text
		}
	}
	r.ttft.Merge(other.ttft)
	r.itl.Merge(other.itl)
	r.e2e.Merge(other.e2e)
	r.late.Merge(other.late)
}

// shard is one part of the result. Workers share a few of them: a histogram
// takes 180 KiB, too much for each of thousands of streams, and the lock is
// taken once per request, after its last byte.
type shard struct {
	mu sync.Mutex // guards Result
	*Result
}

// Report is a result as it is printed. Times are in seconds.
type Report struct {
	Requests int          `json:"requests"`
	OK       int          `json:"ok"`
	Errors   map[Kind]int `json:"errors"`

	Examples map[Kind]string `json:"-"` // for the table

	TTFTP50 float64 `json:"ttft_p50"`
	TTFTP90 float64 `json:"ttft_p90"`
	TTFTP99 float64 `json:"ttft_p99"`
	ITLP50  float64 `json:"itl_p50"`
	ITLP90  float64 `json:"itl_p90"`
	ITLP99  float64 `json:"itl_p99"`
	E2EP50  float64 `json:"e2e_p50"`
	E2EP90  float64 `json:"e2e_p90"`
	E2EP99  float64 `json:"e2e_p99"`

	LateSendP50 float64 `json:"late_send_p50"`
	LateSendP99 float64 `json:"late_send_p99"`
	Late        bool    `json:"late"`

	Duration     float64  `json:"duration"`
	Rate         float64  `json:"rate"` // requests per second
	PromptTokens int64    `json:"prompt_tokens"`
	CachedTokens int64    `json:"cached_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	SLOTTFT      float64  `json:"slo_ttft,omitempty"`
	SLOShare     *float64 `json:"slo_share,omitempty"` // of all requests, failures count as misses
}

// Report summarises r. slo is the TTFT target; 0 means none.
func (r *Result) Report(slo time.Duration) Report {
	q := func(h *hdrhistogram.Histogram, p float64) float64 { return float64(h.ValueAtPercentile(p)) / 1e6 }
	p := Report{
		Requests: r.Requests, OK: r.OK, Errors: r.Errors, Examples: r.Examples,
		TTFTP50: q(r.ttft, 50), TTFTP90: q(r.ttft, 90), TTFTP99: q(r.ttft, 99),
		ITLP50: q(r.itl, 50), ITLP90: q(r.itl, 90), ITLP99: q(r.itl, 99),
		E2EP50: q(r.e2e, 50), E2EP90: q(r.e2e, 90), E2EP99: q(r.e2e, 99),
		LateSendP50: q(r.late, 50), LateSendP99: q(r.late, 99),
		Duration: r.Elapsed.Seconds(), PromptTokens: r.PromptTokens,
		CachedTokens: r.CachedTokens, OutputTokens: r.OutputTokens,
	}
	p.Late = p.LateSendP99 > lateLimit.Seconds()
	if p.Duration > 0 {
		p.Rate = float64(r.Requests) / p.Duration
	}
	if slo > 0 && r.Requests > 0 {
		share := float64(r.WithinSLO) / float64(r.Requests)
		p.SLOTTFT, p.SLOShare = slo.Seconds(), &share
	}
	return p
}

// WriteJSON writes p as one object on one line.
func (p Report) WriteJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(p)
}

// WriteTable writes p for a reader.
func (p Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "requests %d, ok %d, errors %d, %.1f s, %.2f requests/s\n", p.Requests, p.OK, p.Requests-p.OK, p.Duration, p.Rate)
	kinds := make([]string, 0, len(p.Errors))
	for k := range p.Errors {
		kinds = append(kinds, string(k))
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		fmt.Fprintf(t, "  error %s: %d, for example %q\n", k, p.Errors[Kind(k)], p.Examples[Kind(k)])
	}
	fmt.Fprintf(t, "prompt tokens %d (cached %d), output tokens %d\n", p.PromptTokens, p.CachedTokens, p.OutputTokens)
	fmt.Fprintln(t, "seconds\tp50\tp90\tp99\t")
	fmt.Fprintf(t, "TTFT\t%.4f\t%.4f\t%.4f\t\n", p.TTFTP50, p.TTFTP90, p.TTFTP99)
	fmt.Fprintf(t, "ITL\t%.4f\t%.4f\t%.4f\t\n", p.ITLP50, p.ITLP90, p.ITLP99)
	fmt.Fprintf(t, "end to end\t%.4f\t%.4f\t%.4f\t\n", p.E2EP50, p.E2EP90, p.E2EP99)
	fmt.Fprintf(t, "late send\t%.6f\t\t%.6f\t\n", p.LateSendP50, p.LateSendP99)
	if p.SLOShare != nil {
		fmt.Fprintf(t, "TTFT within %.3f s: %.1f %% of requests\n", p.SLOTTFT, *p.SLOShare*100)
	}
	if p.Late {
		fmt.Fprintln(t, "LATE: the generator sent more than 1 ms late at p99; these latencies measure it, not the server")
	}
	return t.Flush()
}
