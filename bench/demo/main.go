package demo

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"penstock/bench/loadgen"
	"penstock/bench/trace"
	"penstock/configs"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// pass is how much of the trace is generated at once when the demo runs until
// it is interrupted.
const pass = 20 * time.Second

// options are the flags of the command.
type options struct {
	length   time.Duration
	json     bool
	replicas int
	policy   string
	seed     uint64
}

// Main is the command. Without --for it runs until ctx ends. It returns 0 when
// every request was answered, 1 when one was not or the demo could not run, and
// 2 when the arguments are wrong.
func Main(ctx context.Context, start StartGateway, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if err != nil {
		fmt.Fprintln(stderr, "penstock demo:", err)
		return exitUsage
	}
	d := demo{options: *o, start: start, stdout: stdout, notes: stdout}
	if o.json {
		d.notes = stderr
	}
	failed, err := d.run(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "penstock demo:", err)
		return exitFailed
	}
	if failed {
		return exitFailed
	}
	return exitDone
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("penstock demo", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.DurationVar(&o.length, "for", 0, "run this long, half of it with each policy, then print a summary; 0 runs until interrupted")
	f.BoolVar(&o.json, "json", false, "print the summary as one JSON object")
	f.IntVar(&o.replicas, "replicas", 4, "simulated engines, 1 to 64")
	f.StringVar(&o.policy, "policy", string(configs.PolicySession), "routing policy that is compared with round_robin")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the trace")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.length < 0:
		return nil, fmt.Errorf("--for %s: must not be negative", o.length)
	case o.replicas < 1 || o.replicas > 64:
		return nil, fmt.Errorf("--replicas %d: want 1 to 64", o.replicas)
	}
	_, err := gatewayConfig(o.policy, []string{"http://127.0.0.1:1"})
	if err != nil {
		return nil, fmt.Errorf("--policy %q: %w", o.policy, err)
	}
	return o, nil
}

// demo is one run of the command.
type demo struct {
	options
	start  StartGateway
	stdout io.Writer // the summary
	notes  io.Writer // everything else
}

// outcome is what one policy achieved.
type outcome struct {
	policy  string
	report  loadgen.Report
	hitRate float64
}

func (d *demo) run(ctx context.Context) (failed bool, err error) {
	if d.length == 0 {
		return d.forever(ctx)
	}
	// Each half also starts and drains a fleet and a gateway.
	window := max(d.length/2-time.Second, d.length/4)
	policies := []string{d.policy, string(configs.PolicyRoundRobin)}
	if d.policy == policies[1] {
		policies, window = policies[:1], 2*window
	}
	var outcomes []outcome
	for _, p := range policies {
		o, err := d.measure(ctx, p, func(ctx context.Context, url string) (*loadgen.Result, error) {
			return load(ctx, url, trace.Demo(window, d.seed).Generate())
		})
		if err != nil {
			return false, err
		}
		outcomes = append(outcomes, o)
		if ctx.Err() != nil {
			break
		}
	}
	return d.summarise(outcomes)
}

// forever plays one stretch of the trace after another until ctx ends.
func (d *demo) forever(ctx context.Context) (failed bool, err error) {
	o, err := d.measure(ctx, d.policy, func(ctx context.Context, url string) (*loadgen.Result, error) {
		var total *loadgen.Result
		for seed := d.seed; ; seed++ {
			r, err := load(ctx, url, trace.Demo(pass, seed).Generate())
			if err != nil {
				return nil, err
			}
			if total == nil {
				total = r
			} else {
				total.Merge(r)
			}
			if ctx.Err() != nil {
				return total, nil
			}
			p := total.Report(0)
			fmt.Fprintf(d.notes, "%d requests, %d errors, TTFT p50 %.0f ms, p99 %.0f ms\n",
				p.Requests, p.Requests-p.OK, p.TTFTP50*1e3, p.TTFTP99*1e3)
		}
	})
	if err != nil {
		return false, err
	}
	return d.summarise([]outcome{o})
}

// measure starts a fleet and a gateway with policy and lets play drive them.
func (d *demo) measure(ctx context.Context, policy string, play func(ctx context.Context, url string) (*loadgen.Result, error)) (o outcome, err error) {
	f, err := startFleet(ctx, d.replicas)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	cfg, err := gatewayConfig(policy, f.urls)
	if err != nil {
		return o, err
	}
	data, admin, stop, err := d.start(ctx, cfg)
	if err != nil {
		return o, fmt.Errorf("cannot start the gateway: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	fmt.Fprintf(d.notes, "policy %s: gateway %s, admin %s, %d simulated engines\n", policy, data, admin, d.replicas)
	r, err := play(ctx, data)
	if err != nil {
		return o, err
	}
	return outcome{policy: policy, report: r.Report(0), hitRate: f.hitRate()}, nil
}

func load(ctx context.Context, url string, t *trace.Trace) (*loadgen.Result, error) {
	return loadgen.Run(ctx, loadgen.Config{
		URL: url, Trace: t, SessionHeader: sessionHeader, Timeout: time.Minute,
		Synth: trace.Synth{Model: model, API: trace.Chat, Streams: true},
	})
}

// summary is the JSON form: the report of the configured policy, and beside it
// the hit rate of each policy and the whole report of round robin.
type summary struct {
	loadgen.Report
	Policy     string             `json:"policy"`
	HitRate    map[string]float64 `json:"hit_rate"`
	RoundRobin *loadgen.Report    `json:"round_robin,omitempty"`
}

func (d *demo) summarise(outcomes []outcome) (failed bool, err error) {
	for _, o := range outcomes {
		failed = failed || o.report.OK < o.report.Requests || o.report.OK == 0
	}
	if !d.json {
		return failed, writeTable(d.stdout, outcomes)
	}
	s := summary{Report: outcomes[0].report, Policy: outcomes[0].policy, HitRate: map[string]float64{}}
	for i := range outcomes {
		o := &outcomes[i]
		s.HitRate[o.policy] = o.hitRate
		if o.policy == string(configs.PolicyRoundRobin) {
			s.RoundRobin = &o.report
		}
	}
	return failed, json.NewEncoder(d.stdout).Encode(s)
}

func writeTable(w io.Writer, outcomes []outcome) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "policy\trequests\terrors\thit rate\tTTFT p50\tTTFT p99")
	late := false
	for _, o := range outcomes {
		r := &o.report
		fmt.Fprintf(t, "%s\t%d\t%d\t%.1f %%\t%.0f ms\t%.0f ms\n", o.policy, r.Requests, r.Requests-r.OK, o.hitRate*100, r.TTFTP50*1e3, r.TTFTP99*1e3)
		late = late || r.Late
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, o := range outcomes {
		for kind, n := range o.report.Errors {
			fmt.Fprintf(w, "%s: %d × %s, for example %q\n", o.policy, n, kind, o.report.Examples[kind])
		}
	}
	if late {
		fmt.Fprintln(w, "The generator sent more than 1 ms late at p99: the machine is busy, so read the times with care.")
	}
	return nil
}
