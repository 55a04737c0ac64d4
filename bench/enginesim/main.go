package enginesim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"penstock/bench/enginesim/core"
)

// options are the flags of the command.
type options struct {
	cfg      Config
	listen   string
	replicas int
	faults   Fault
}

// Main runs "penstock sim" until ctx ends and returns its exit code: 0 done,
// 1 failed, 2 wrong usage.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "penstock sim: %v\n", err)
		return 2
	}
	if err := serveAll(ctx, opt, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "penstock sim: %v\n", err)
		return 1
	}
	return 0
}

func parseFlags(args []string, stderr io.Writer) (*options, error) {
	fs := flag.NewFlagSet("penstock sim", flag.ContinueOnError)
	fs.SetOutput(stderr)
	engine := fs.String("engine", "vllm", "server to imitate: vllm, sglang or trtllm")
	listen := fs.String("listen", "127.0.0.1:8000", "address of the first replica; the others follow on the next ports (port 0: any)")
	model := fs.String("model", "sim", "model name")
	adapters := fs.String("lora", "", "names of loaded LoRA adapters, separated by commas")
	maxLen := fs.Int("max-model-len", 0, "longest prompt plus answer, tokens (0: default of the engine)")
	blockSize := fs.Int("block-size", 0, "tokens per KV block (0: default of the engine)")
	blocks := fs.Int("blocks", 0, "KV blocks on the device (0: default of the engine)")
	hostBlocks := fs.Int("host-blocks", 0, "KV blocks of the host tier")
	preset := fs.String("preset", "h100-8b", "timing: "+strings.Join(core.PresetNames(), ", "))
	speed := fs.Float64("speed", 1, "simulated seconds per second")
	seed := fs.Int64("seed", 0, "seed of request ids")
	seqs := fs.Int("max-num-seqs", 0, "sequences in a batch (0: default of the engine)")
	budget := fs.Int("max-num-batched-tokens", 0, "tokens of a step (0: default of the engine)")
	queued := fs.Int("max-num-queued-reqs", 0, "waiting sequences before new ones get 503 (0: no limit)")
	scheduling := fs.String("scheduling-policy", "fcfs", "fcfs or priority")
	ranks := fs.Int("data-parallel-size", 1, "data-parallel ranks behind one address")
	key := fs.String("api-key", "", "key that protected routes ask for")
	faults := fs.String("faults", "", `standing fault, for example "slow=2" or "times=1,die_after_events=3"`)
	headerFaults := fs.Bool("allow-header-faults", false, "requests may bring a fault in the header x-sim-fault")
	cacheReport := fs.Bool("enable-prompt-tokens-details", false, "usage reports cached tokens")
	echo := fs.Bool("enable-request-id-headers", false, "answers echo X-Request-Id")
	replicas := fs.Int("replicas", 1, "servers on consecutive ports")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("cannot use argument %q", fs.Arg(0))
	}
	opt := &options{cfg: Default(Dialect(*engine)), listen: *listen, replicas: *replicas}
	cfg := &opt.cfg
	cfg.Model, cfg.Speed, cfg.Seed, cfg.Ranks, cfg.APIKey = *model, *speed, *seed, *ranks, *key
	cfg.AllowHeaderFaults, cfg.CacheReport, cfg.EchoID = *headerFaults, *cacheReport, *echo
	if *adapters != "" {
		cfg.Adapters = strings.Split(*adapters, ",")
	}
	for _, set := range []struct {
		p *int
		v int
	}{
		{&cfg.Engine.MaxModelLen, *maxLen},
		{&cfg.Engine.BlockSize, *blockSize},
		{&cfg.Engine.Blocks, *blocks},
		{&cfg.Engine.HostBlocks, *hostBlocks},
		{&cfg.Engine.MaxSeqs, *seqs},
		{&cfg.Engine.MaxTokens, *budget},
		{&cfg.Engine.MaxQueued, *queued},
	} {
		if set.v != 0 {
			*set.p = set.v
		}
	}
	cfg.Engine.ByPriority = *scheduling == "priority"
	err := opt.check(*scheduling, *preset, *faults)
	return opt, err
}

// check reads the flags that are names and reports everything that is wrong.
func (o *options) check(scheduling, preset, faults string) error {
	var errs []error
	if scheduling != "priority" && scheduling != "fcfs" {
		errs = append(errs, fmt.Errorf("cannot schedule by %q: want fcfs or priority", scheduling))
	}
	if o.replicas < 1 {
		errs = append(errs, fmt.Errorf("cannot start %d replicas", o.replicas))
	}
	var err error
	if o.cfg.Engine.Timing, err = core.Preset(preset); err != nil {
		errs = append(errs, err)
	}
	if o.faults, err = ParseFault(faults); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, o.cfg.Validate())...)
}

// serveAll runs every replica until ctx ends or one fails.
func serveAll(ctx context.Context, opt *options, stdout io.Writer) error {
	listeners, err := listenAll(ctx, opt.listen, opt.replicas)
	if err != nil {
		return err
	}
	var servers []*Server
	for i := range listeners {
		cfg := opt.cfg
		cfg.Seed += int64(i)
		s, err := New(cfg)
		if err != nil {
			return errors.Join(err, closeAll(listeners))
		}
		s.SetFault(opt.faults)
		servers = append(servers, s)
	}
	failed := make(chan error, len(servers))
	var running sync.WaitGroup
	for i, s := range servers {
		_, _ = fmt.Fprintf(stdout, "http://%s\n", listeners[i].Addr())
		running.Go(func() { failed <- s.Serve(listeners[i]) })
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	for _, s := range servers {
		err = errors.Join(err, s.Close())
	}
	running.Wait()
	return err
}

// listenAll opens n listeners on consecutive ports.
func listenAll(ctx context.Context, addr string, n int) ([]net.Listener, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", addr, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", addr, err)
	}
	var lc net.ListenConfig
	var out []net.Listener
	for i := range n {
		p := port
		if port != 0 {
			p += i
		}
		ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot listen: %w", err), closeAll(out))
		}
		out = append(out, ln)
	}
	return out, nil
}

func closeAll(list []net.Listener) error {
	errs := make([]error, 0, len(list))
	for _, ln := range list {
		errs = append(errs, ln.Close())
	}
	return errors.Join(errs...)
}
