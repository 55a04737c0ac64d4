package loadgen

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"time"

	"penstock/bench/trace"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// options are the flags of the command.
type options struct {
	url         string
	trace       string
	rate        float64
	speedup     float64
	jitter      time.Duration
	concurrency int
	duration    time.Duration
	timeout     time.Duration
	model       string
	api         string
	stream      bool
	ignoreEOS   bool
	json        bool
	headers     list
	session     string
	apiKey      string
	slo         time.Duration
	seed        uint64
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ", ") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// Main is the command "penstock load". It returns the exit code: 0 when the run
// was made, whatever it measured; 1 when it could not be made or no request
// succeeded; 2 when the arguments are wrong.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if err != nil {
		fmt.Fprintln(stderr, "penstock load:", err)
		return exitUsage
	}
	cfg, err := o.config(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "penstock load:", err)
		return exitFailed
	}
	result, err := Run(ctx, cfg)
	if err != nil {
		fmt.Fprintln(stderr, "penstock load:", err)
		return exitFailed
	}
	report := result.Report(o.slo)
	write := report.WriteTable
	if o.json {
		write = report.WriteJSON
	}
	if err := write(stdout); err != nil {
		fmt.Fprintln(stderr, "penstock load: cannot write the report:", err)
		return exitFailed
	}
	if result.OK == 0 {
		return exitFailed
	}
	return exitDone
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("penstock load", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.url, "url", "", "base URL of the endpoint, for example http://127.0.0.1:8080 (required)")
	f.StringVar(&o.trace, "trace", "demo", "trace file: Mooncake or text JSON lines, Azure CSV, plain or zstd; \"demo\" is a built-in chat mix")
	f.Float64Var(&o.rate, "rate", 0, "Poisson arrivals at this many requests per second instead of the trace's times")
	f.Float64Var(&o.speedup, "speedup", 1, "play the trace's times this much faster")
	f.DurationVar(&o.jitter, "jitter", 0, "move each request later by up to this, before the speed-up (Mooncake conversation wants 3s)")
	f.IntVar(&o.concurrency, "concurrency", defaultConcurrency, "most requests in flight; beyond it sends are late")
	f.DurationVar(&o.duration, "duration", 0, "stop sending after this; a shorter trace is repeated; 0 plays it once")
	f.DurationVar(&o.timeout, "timeout", defaultTimeout, "longest time for one request")
	f.StringVar(&o.model, "model", "", "model name; empty asks /v1/models for the first")
	f.StringVar(&o.api, "api", string(trace.Chat), "chat or completions")
	f.BoolVar(&o.stream, "stream", true, "ask for server-sent events")
	f.BoolVar(&o.ignoreEOS, "ignore-eos", false, "ask the engine for exactly the trace's output tokens (extension)")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.Var(&o.headers, "header", "further request header, name=value; may be repeated")
	f.StringVar(&o.session, "session-header", "x-session-id", "header that carries the trace's session; empty sends none")
	f.StringVar(&o.apiKey, "api-key", "", "bearer token, as env:NAME or file:PATH")
	f.DurationVar(&o.slo, "slo-ttft", 0, "report the share of requests with TTFT within this")
	f.Uint64Var(&o.seed, "seed", 1, "seed of arrivals, jitter and text")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	err := o.validate()
	return o, err
}

func (o *options) validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	bad(o.url == "", "--url is required")
	bad(!strings.HasPrefix(o.url, "http://") && !strings.HasPrefix(o.url, "https://") && o.url != "", "--url %q: want http:// or https://", o.url)
	bad(o.rate < 0 || !finite(o.rate), "--rate %g: must be positive", o.rate)
	bad(o.speedup <= 0 || !finite(o.speedup), "--speedup %g: must be positive", o.speedup)
	bad(o.rate > 0 && o.speedup != 1, "--rate and --speedup exclude each other")
	bad(o.concurrency <= 0, "--concurrency %d: must be positive", o.concurrency)
	bad(o.duration < 0 || o.jitter < 0 || o.slo < 0 || o.timeout <= 0, "times must not be negative, and --timeout not 0")
	bad(o.api != string(trace.Chat) && o.api != string(trace.Completions), "--api %q: want chat or completions", o.api)
	for _, h := range o.headers {
		bad(!strings.Contains(h, "="), "--header %q: want name=value", h)
	}
	bad(o.apiKey != "" && !strings.HasPrefix(o.apiKey, "env:") && !strings.HasPrefix(o.apiKey, "file:"),
		"--api-key: want env:NAME or file:PATH (a key on the command line is visible to every user)")
	return errors.Join(errs...)
}

// config turns the flags into a run: it reads the trace and asks for the model.
func (o *options) config(ctx context.Context) (Config, error) {
	t, err := o.load()
	if err != nil {
		return Config{}, err
	}
	cfg := Config{
		URL: o.url, Trace: t, SessionHeader: o.session, Concurrency: o.concurrency, Timeout: o.timeout, SLO: o.slo,
		Synth: trace.Synth{Model: o.model, API: trace.API(o.api), Streams: o.stream, IgnoreEOS: o.ignoreEOS, Salt: o.seed},
	}
	for _, h := range o.headers {
		name, value, _ := strings.Cut(h, "=")
		cfg.Headers = append(cfg.Headers, name+": "+value)
	}
	key, err := secret(o.apiKey)
	if err != nil {
		return cfg, err
	}
	if key != "" {
		cfg.Headers = append(cfg.Headers, "Authorization: Bearer "+key)
	}
	if o.model == "" {
		cfg.Synth.Model, err = firstModel(ctx, o.url, key)
	}
	return cfg, err
}

// load reads the trace and sets its clock.
func (o *options) load() (*trace.Trace, error) {
	t, err := o.open()
	if err != nil {
		return nil, err
	}
	t.Spread(o.jitter, o.seed)
	t.SpeedUp(o.speedup)
	n := len(t.Requests)
	switch {
	case o.rate > 0 && o.duration > 0:
		// The expected number and six standard deviations.
		want := o.rate * o.duration.Seconds()
		n = int(want+6*math.Sqrt(want)) + 1
	case o.duration > 0 && t.Duration() > 0:
		n *= int(o.duration/t.Duration()) + 1
	}
	if n > maxRequests {
		return nil, fmt.Errorf("cannot send %d requests in one run: the limit is %d", n, maxRequests)
	}
	t.Repeat(n)
	if o.rate > 0 {
		t.Poisson(o.rate, o.seed)
	}
	if o.duration > 0 {
		t.Cut(o.duration)
	}
	if len(t.Requests) == 0 {
		return nil, errors.New("cannot run: no request falls within --duration")
	}
	return t, nil
}

// maxRequests bounds one run's memory.
const maxRequests = 16 << 20

func (o *options) open() (*trace.Trace, error) {
	if o.trace != "demo" {
		return trace.Open(o.trace)
	}
	window := time.Minute
	if o.rate == 0 && o.duration > 0 {
		window = time.Duration(float64(o.duration) * o.speedup)
	}
	return trace.Demo(window, o.seed).Generate(), nil
}

// secret resolves env:NAME and file:PATH.
func secret(ref string) (string, error) {
	if name, ok := strings.CutPrefix(ref, "env:"); ok {
		v, set := os.LookupEnv(name)
		if !set || v == "" {
			return "", fmt.Errorf("cannot read the API key: environment variable %s is not set", name)
		}
		return v, nil
	}
	if path, ok := strings.CutPrefix(ref, "file:"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("cannot read the API key: %w", err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	return "", nil
}

// firstModel asks the endpoint what it serves.
func firstModel(ctx context.Context, base, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	base = strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/v1")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/models", nil)
	if err != nil {
		return "", fmt.Errorf("cannot ask for the model: %w", err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("cannot ask for the model (name it with --model): %w", err)
	}
	defer resp.Body.Close()
	var models struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&models)
	if err != nil || resp.StatusCode != http.StatusOK || len(models.Data) == 0 {
		return "", fmt.Errorf("cannot tell the model from /v1/models (status %d): name it with --model", resp.StatusCode)
	}
	return models.Data[0].ID, nil
}
