package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the harness, or one of its children:
//
//	upstream ADDRESS          the mock engine
//	bare ADDRESS UPSTREAM     the bare fasthttp proxy
//	generate ORDER            one generator job (JSON), result on stdout
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var err error
	switch {
	case len(args) == 2 && args[0] == "upstream":
		err = listen(ctx, args[1], newUpstream().serve)
	case len(args) == 3 && args[0] == "bare":
		err = listen(ctx, args[1], newBareProxy(args[2]).serve)
	case len(args) == 2 && args[0] == "generate":
		err = runGenerator(ctx, args[1], stdin, stdout)
	default:
		return runHarness(ctx, args, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "proxybench:", err)
		return exitFailed
	}
	return exitDone
}

func listen(ctx context.Context, address string, serve func(context.Context, net.Listener) error) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	return serve(ctx, ln)
}

// runGenerator prints "ready" when an idle job holds its streams, and waits for
// the end of stdin before it lets go of them.
func runGenerator(ctx context.Context, text string, stdin io.Reader, stdout io.Writer) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("cannot read the order: %w", err)
	}
	y, err := generate(ctx, o, func() {
		fmt.Fprintln(stdout, readyLine)
		_, _ = io.Copy(io.Discard, stdin)
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(y)
}

const readyLine = "ready"

// options are the flags of the harness.
type options struct {
	rounds    int
	quick     bool
	penstock  string
	tokenizer string
	out       string
	proxyCore int
	helpCore  int
	cases     string
	length    time.Duration
	streams   int
	repeats   int
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("proxybench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.rounds, "rounds", 5, "interleaved rounds, at least 5 for figures to publish")
	f.BoolVar(&o.quick, "quick", false, "a smoke run: one short round, few streams, nothing repeated")
	f.StringVar(&o.penstock, "penstock", "bin/penstock", "the gateway's binary")
	f.StringVar(&o.tokenizer, "tokenizer", ".cache/oracle/models/qwen3", "folder of the tokenizer for the cases with keys")
	f.StringVar(&o.out, "out", "", "also write the tables into this file; text outside the markers is kept")
	f.IntVar(&o.proxyCore, "proxy-core", 0, "core of the proxy")
	f.IntVar(&o.helpCore, "generator-core", 1, "core of upstream, generator and harness")
	f.StringVar(&o.cases, "cases", "", "comma-separated cases; empty means all: "+strings.Join(caseNames(), ","))
	f.DurationVar(&o.length, "length", 4*time.Second, "measured time of a throughput or latency cell")
	f.IntVar(&o.streams, "streams", 10000, "streams of case idle")
	f.IntVar(&o.repeats, "repeats", 2, "further tries of a cell that other processes disturbed")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.rounds, o.length, o.streams, o.repeats = 1, time.Second, min(o.streams, 500), 0
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.rounds < 1 || o.length <= 0 || o.streams < 1 || o.repeats < 0:
		return o, errors.New("--rounds, --length and --streams must be positive")
	case o.proxyCore == o.helpCore:
		return o, errors.New("--proxy-core and --generator-core must differ")
	}
	_, err := selectCases(o.cases)
	return o, err
}

func runHarness(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if err != nil {
		fmt.Fprintln(stderr, "proxybench:", err)
		return exitUsage
	}
	h, err := newHarness(o, stderr)
	if err == nil {
		err = h.rounds(ctx)
	}
	if err == nil {
		err = section.Publish(h.out, h.document(args), stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "proxybench:", err)
		return exitFailed
	}
	return exitDone
}

func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}
