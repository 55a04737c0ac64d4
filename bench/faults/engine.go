//go:build linux

package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"penstock/bench/enginesim"
	"penstock/bench/enginesim/core"
)

// Model is the name that every engine here serves.
const Model = "sim"

// Engine is a simulated engine in this process.
type Engine struct {
	*enginesim.Server
	URL string

	serving sync.WaitGroup
}

// EngineConfig is an instant vLLM.
func EngineConfig() enginesim.Config {
	c := enginesim.Default(enginesim.VLLM)
	c.Model = Model
	c.Engine.Timing = core.Timing{Base: 1e-4}
	return c
}

// StartEngine serves cfg on a free port.
func StartEngine(ctx context.Context, cfg enginesim.Config) (*Engine, error) {
	ln, err := Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return ServeEngine(ln, cfg)
}

// Listen opens a TCP listener.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return ln, nil
}

// ServeEngine serves cfg on ln, which it owns from here on.
func ServeEngine(ln net.Listener, cfg enginesim.Config) (*Engine, error) {
	s, err := enginesim.New(cfg)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	e := &Engine{Server: s, URL: "http://" + ln.Addr().String()}
	e.serving.Go(func() { _ = s.Serve(ln) })
	return e, nil
}

// Close ends the engine and everything it serves.
func (e *Engine) Close() error {
	err := e.Server.Close()
	e.serving.Wait()
	return err
}

// Process is a simulated engine in a process of its own, which can be killed
// and stopped.
type Process struct {
	URL string

	cmd    *exec.Cmd
	exited chan struct{}
}

// StartProcess runs "penstock sim" with args, which come after a free port and
// the model's name, and returns once it listens.
func (b Binary) StartProcess(ctx context.Context, args ...string) (*Process, error) {
	p := &Process{exited: make(chan struct{})}
	out := NewTranscript()
	all := append([]string{"sim", "--listen", "127.0.0.1:0", "--model", Model}, args...)
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), string(b), all...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start an engine: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // it is killed on purpose
		close(p.exited)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	line, err := out.Await(ctx, p.exited, "http://")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot see the engine serve: %w: %s", err, out.Text()), p.Close())
	}
	p.URL = strings.TrimSpace(line)
	return p, nil
}

// Address is the engine's host and port.
func (p *Process) Address() string { return strings.TrimPrefix(p.URL, "http://") }

// Signal sends a signal to the engine.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("cannot signal the engine: %w", err)
	}
	return nil
}

// Close kills the engine; it may have ended already.
func (p *Process) Close() error {
	_ = p.cmd.Process.Kill()
	<-p.exited
	return nil
}

// Script is an engine that writes whatever bytes it is told to.
type Script struct {
	URL string

	ln      net.Listener
	serving sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns map[net.Conn]struct{}
	ended bool
}

// Scripted answers the request r, whose body has been read, on c. It returns
// whether the connection takes another request.
type Scripted func(c *net.TCPConn, r *http.Request, body []byte) (again bool)

// StartScript serves each POST with f; the gateway asks for more than clients
// do, such as the models, and is told that there is nothing.
func StartScript(ctx context.Context, f Scripted) (*Script, error) {
	ln, err := Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Script{URL: "http://" + ln.Addr().String(), ln: ln, conns: map[net.Conn]struct{}{}}
	s.serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if s.keep(c) {
				s.serving.Go(func() { s.serve(c.(*net.TCPConn), f) })
			}
		}
	})
	return s, nil
}

func (s *Script) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		_ = c.Close()
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Script) serve(c *net.TCPConn, f Scripted) {
	defer func() {
		_ = c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.Method != http.MethodPost {
			_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
			continue
		}
		if !f(c, r, body) {
			return
		}
	}
}

// Close ends the script and its connections.
func (s *Script) Close() error {
	err := s.ln.Close()
	s.mu.Lock()
	s.ended = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
	return err
}
