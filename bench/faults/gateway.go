//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"penstock/configs"
)

// Binary is the path of a built gateway.
type Binary string

// Build compiles the gateway into dir. With PENSTOCK_FAULTS_RACE=1 it carries
// the race detector, which needs a C compiler; PENSTOCK_FAULTS_BINARY names one
// that is built already.
func Build(ctx context.Context, dir string) (Binary, error) {
	if ready := os.Getenv("PENSTOCK_FAULTS_BINARY"); ready != "" {
		return Binary(ready), nil
	}
	path := filepath.Join(dir, "penstock")
	args, cgo := []string{"build", "-o", path}, "CGO_ENABLED=0"
	if os.Getenv("PENSTOCK_FAULTS_RACE") == "1" {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	build := exec.CommandContext(ctx, "go", append(args, "penstock/cmd/penstock")...)
	build.Env = append(os.Environ(), cgo)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the gateway: %w: %s", err, out)
	}
	return Binary(path), nil
}

// Config is the configuration that faults start from: one pool of vLLM replicas
// r0, r1, ... with no probes, so that nothing but the test's requests reaches
// them, and with idle connections that close soon, so that descriptors settle.
func Config(urls ...string) *configs.Config {
	c := configs.Default()
	c.Listen.Address, c.Admin.Address = "127.0.0.1:0", "127.0.0.1:0"
	c.Shutdown.Settle, c.Shutdown.Drain = 0, configs.Duration(20*time.Second)
	p := configs.DefaultPool()
	p.Name, p.Default, p.Engine = "fleet", true, configs.EngineVLLM
	p.Health.Disabled, p.Load.Disabled = true, true
	p.SlowStart = 0
	p.Connections.IdleTimeout = configs.Duration(500 * time.Millisecond)
	for i, u := range urls {
		r := configs.DefaultReplica()
		r.ID, r.URL = "r"+strconv.Itoa(i), u
		p.Replicas = append(p.Replicas, r)
	}
	c.Pools = []configs.Pool{p}
	c.Complete()
	return &c
}

// Gateway is a running gateway process.
type Gateway struct {
	Data       string // host:port of the data listener
	Admin      string // host:port of the admin listener
	ConfigPath string
	Stdout     *Transcript // the access log, if it goes there
	Stderr     *Transcript // the log

	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of Wait; read after exited
}

// startTimeout is how long a gateway may take to serve on a busy machine.
const startTimeout = 30 * time.Second

// Start writes cfg into dir and serves it; it returns once the gateway has said
// that it serves. More arguments follow those that name the configuration.
func (b Binary) Start(ctx context.Context, dir string, cfg *configs.Config, args ...string) (*Gateway, error) {
	path := filepath.Join(dir, "penstock.yaml")
	if err := WriteConfig(path, cfg); err != nil {
		return nil, err
	}
	return b.Serve(ctx, path, args...)
}

// WriteConfig puts cfg at path in one step, as a careful operator does.
func WriteConfig(path string, cfg *configs.Config) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, cfg.Effective(), 0o600); err != nil {
		return fmt.Errorf("cannot write configuration: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("cannot write configuration: %w", err)
	}
	return nil
}

// Serve starts a gateway with the configuration at path. The process outlives
// ctx, which bounds only the start; Close ends it.
func (b Binary) Serve(ctx context.Context, path string, args ...string) (*Gateway, error) {
	g := &Gateway{
		ConfigPath: path, Stdout: NewTranscript(), Stderr: NewTranscript(), exited: make(chan struct{}),
	}
	g.cmd = exec.CommandContext(context.WithoutCancel(ctx), string(b), append([]string{"serve", "--config", path}, args...)...)
	g.cmd.Stdout, g.cmd.Stderr = g.Stdout, g.Stderr
	g.cmd.WaitDelay = 5 * time.Second
	// A gateway must not survive a test binary that was killed.
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the gateway: %w", err)
	}
	go func() {
		g.err = g.cmd.Wait()
		close(g.exited)
	}()
	if err := g.awaitServing(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *Gateway) awaitServing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	line, err := g.Stderr.Await(ctx, g.exited, `"msg":"serving"`)
	if err != nil {
		return fmt.Errorf("cannot see the gateway serve: %w: %s", err, g.Stderr.Text())
	}
	var said struct{ Data, Admin string }
	if err := json.Unmarshal([]byte(line), &said); err != nil {
		return fmt.Errorf("cannot read the gateway's first words: %w", err)
	}
	_, g.Data, _ = strings.Cut(said.Data, "://")
	_, g.Admin, _ = strings.Cut(said.Admin, "://")
	return nil
}

// Pid is the process id.
func (g *Gateway) Pid() int { return g.cmd.Process.Pid }

// Signal sends a signal to the process.
func (g *Gateway) Signal(s syscall.Signal) error {
	if err := g.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("cannot signal the gateway: %w", err)
	}
	return nil
}

// Exited is closed when the process has ended.
func (g *Gateway) Exited() <-chan struct{} { return g.exited }

// ExitCode waits for the end of the process.
func (g *Gateway) ExitCode(ctx context.Context) (int, error) {
	select {
	case <-g.exited:
		return g.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("cannot wait for the gateway: %w", ctx.Err())
	}
}

// Close kills the process if it still runs. It may be called more than once.
func (g *Gateway) Close() error {
	select {
	case <-g.exited:
		return nil
	default:
	}
	if err := g.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot kill the gateway: %w", err)
	}
	<-g.exited
	return nil
}

// Transcript keeps what a process writes and lets others wait for a line.
type Transcript struct {
	mu    sync.Mutex // guards what follows
	text  []byte
	grown chan struct{} // closed at the next write
}

// NewTranscript returns an empty transcript.
func NewTranscript() *Transcript { return &Transcript{grown: make(chan struct{})} }

// Write implements io.Writer.
func (t *Transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	close(t.grown)
	t.grown = make(chan struct{})
	return len(p), nil
}

// Text is everything written so far.
func (t *Transcript) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// errEnded says that a process ended before it said what was waited for.
var errEnded = errors.New("faults: process ended")

// Await returns the first whole line that holds what, waiting for it until ctx
// or the process ends.
func (t *Transcript) Await(ctx context.Context, ended <-chan struct{}, what string) (string, error) {
	for last := false; ; {
		t.mu.Lock()
		line, grown := lineWith(t.text, what), t.grown
		t.mu.Unlock()
		switch {
		case line != "":
			return line, nil
		case last:
			return "", errEnded
		}
		select {
		case <-grown:
		case <-ended:
			last = true // its last words are in the text by now
		case <-ctx.Done():
			return "", fmt.Errorf("cannot find %q: %w", what, ctx.Err())
		}
	}
}

func lineWith(text []byte, what string) string {
	i := bytes.Index(text, []byte(what))
	if i < 0 {
		return ""
	}
	end := bytes.IndexByte(text[i:], '\n')
	if end < 0 {
		return ""
	}
	start := bytes.LastIndexByte(text[:i], '\n') + 1
	return string(text[start : i+end])
}
