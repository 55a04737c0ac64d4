package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// proxy is one row of the tables.
type proxy struct {
	name string
	// command builds the process that listens on address and forwards to
	// upstream; files it needs go to dir. Nil: no proxy, the row "direct".
	command func(dir, address, upstream string) (*exec.Cmd, error)
	version string
	// keyed rows are measured in the cases with chats only. ready waits until the
	// tokenizer that the process in dir loads is in use.
	keyed bool
	ready func(ctx context.Context, dir string) error
}

// takesPart reports whether c has a row of p.
func (p *proxy) takesPart(c *benchCase) bool {
	if p.command == nil && c.kind == idle {
		return false
	}
	return !p.keyed || c.chats > 0
}

// binary finds a program also where users who are not root do not look.
func binary(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", name))
}

// proxies lists what is here, in the order of the rounds, and says what is not.
// streams is how many each must be able to hold: two connections for each.
// With a tokenizer, Penstock comes also with keys: of prompts that it knows, and, with
// its memo off, of prompts that it tokenizes whole.
func proxies(self, penstock, tokenizer string, streams int) (list []proxy, missing []string) {
	list = append(list, proxy{name: direct})
	if _, err := os.Stat(penstock); err == nil {
		list = append(list, proxy{name: "Penstock", version: "this commit", command: penstockCommand(penstock, "")})
		if tokenizer != "" {
			known := fmt.Sprintf("{path: %q, parity: off, remote: off}", tokenizer)
			fresh := fmt.Sprintf("{path: %q, parity: off, remote: off, memo: 0B}", tokenizer)
			list = append(list,
				proxy{name: "Penstock, keys of known text", command: penstockCommand(penstock, known), keyed: true, ready: tokenizerReady},
				proxy{name: "Penstock, keys of new text", command: penstockCommand(penstock, fresh), keyed: true, ready: tokenizerReady})
		}
	} else {
		missing = append(missing, "Penstock ("+penstock+" is not built)")
	}
	if path, err := binary("nginx"); err == nil {
		list = append(list, proxy{name: "nginx", version: versionOf(path, "-v"), command: nginxCommand(path, streams)})
	} else {
		missing = append(missing, "nginx")
	}
	if path, err := binary("haproxy"); err == nil {
		list = append(list, proxy{name: "HAProxy", version: versionOf(path, "-v"), command: haproxyCommand(path, streams)})
	} else {
		missing = append(missing, "HAProxy")
	}
	list = append(list, proxy{name: "bare fasthttp", version: moduleVersion("github.com/valyala/fasthttp"), command: bareCommand(self)})
	return list, missing
}

// direct is the row without a proxy.
const direct = "direct"

func versionOf(path string, args ...string) string {
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	line = strings.TrimPrefix(line, "nginx version: ")
	line, _, _ = strings.Cut(line, " - https")
	return line
}

// adminFile is where the admin address that a Penstock may take is noted.
const adminFile = "admin"

func penstockCommand(path, tokenizer string) func(dir, address, upstream string) (*exec.Cmd, error) {
	return func(dir, address, upstream string) (*exec.Cmd, error) {
		admin, err := os.ReadFile(filepath.Join(dir, adminFile))
		if err != nil {
			return nil, fmt.Errorf("cannot find the admin address: %w", err)
		}
		file := filepath.Join(dir, "penstock.yaml")
		cmd := exec.Command(path, "serve", "--config", file)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		engine := "vllm" // whose prompts are made
		if tokenizer == "" {
			engine, tokenizer = "openai", "{}"
		}
		return cmd, os.WriteFile(file, fmt.Appendf(nil, `listen: {address: %q}
admin: {address: %q}
log: {access: false, level: warn}
shutdown: {settle: 0s, drain: 1s}
pools:
- name: bench
  engine: %s
  models: [{id: m}]
  health: {disabled: true}
  load: {disabled: true}
  slow_start: 0s
  tokenizer: %s
  replicas: [{url: "http://%s"}]
`, address, admin, engine, tokenizer, upstream), 0o600)
	}
}

// tokenizerReady asks the metrics of the Penstock in dir until its tokenizer is in use.
func tokenizerReady(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	admin, err := os.ReadFile(filepath.Join(dir, adminFile))
	if err != nil {
		return fmt.Errorf("cannot find the admin address: %w", err)
	}
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+string(admin)+"/metrics", http.NoBody)
		if err != nil {
			return err
		}
		if a, err := client.Do(q); err == nil {
			text, err := io.ReadAll(a.Body)
			a.Body.Close()
			if err == nil && readyMetric.Match(text) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for the tokenizer: %w", ctx.Err())
		case <-retry.C:
		}
	}
}

var readyMetric = regexp.MustCompile(`(?m)^penstock_tokenizer_state\{.*state="(ready|verified|unverified)".*\} 1$`)

func nginxCommand(path string, streams int) func(dir, address, upstream string) (*exec.Cmd, error) {
	return func(dir, address, upstream string) (*exec.Cmd, error) {
		file := filepath.Join(dir, "nginx.conf")
		cmd := exec.Command(path, "-p", dir, "-c", file)
		// Bodies stay in memory, as in the other proxies; streams are not held
		// back, answers in one piece may be. Twice the connections needed: it
		// closes waiting clients when fewer than a sixteenth are left.
		return cmd, os.WriteFile(file, fmt.Appendf(nil, `daemon off;
worker_processes 1;
error_log stderr crit;
pid nginx.pid;
events { worker_connections %d; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  client_body_buffer_size 128k;
  client_max_body_size 64m;
  keepalive_timeout 300s;
  keepalive_requests 1000000000;
  tcp_nodelay on;
  upstream engine {
    server %s;
    keepalive 1024;
    keepalive_requests 1000000000;
  }
  server {
    listen %s backlog=4096;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_read_timeout 3600s;
    location / { proxy_pass http://engine; }
    location = /v1/chat/completions { proxy_pass http://engine; proxy_buffering off; }
  }
}
`, 4*streams, upstream, address), 0o600)
	}
}

func haproxyCommand(path string, streams int) func(dir, address, upstream string) (*exec.Cmd, error) {
	return func(dir, address, upstream string) (*exec.Cmd, error) {
		file := filepath.Join(dir, "haproxy.cfg")
		cmd := exec.Command(path, "-db", "-f", file)
		// Without http-no-delay it holds events back for about 125 ms.
		return cmd, os.WriteFile(file, fmt.Appendf(nil, `global
  nbthread 1
  maxconn %d
defaults
  mode http
  option http-no-delay
  timeout connect 5s
  timeout client 3600s
  timeout server 3600s
  timeout http-keep-alive 300s
frontend in
  bind %s
  default_backend engine
backend engine
  http-reuse always
  server engine %s
`, streams, address, upstream), 0o600)
	}
}

func bareCommand(self string) func(dir, address, upstream string) (*exec.Cmd, error) {
	return func(_, address, upstream string) (*exec.Cmd, error) {
		cmd := exec.Command(self, "bare", address, upstream)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		return cmd, nil
	}
}

// process is a running child.
type process struct {
	cmd    *exec.Cmd
	output *strings.Builder
	ended  chan error
}

// launch starts cmd on core. Its output is kept for error messages.
func launch(cmd *exec.Cmd, core int) (*process, error) {
	p := &process{cmd: cmd, output: &strings.Builder{}, ended: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := startOn(core, cmd.Start); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", filepath.Base(cmd.Path), err)
	}
	go func() { p.ended <- cmd.Wait() }()
	return p, nil
}

// stop ends the process and its children and waits for it.
func (p *process) stop() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	t := time.NewTimer(5 * time.Second)
	defer t.Stop()
	select {
	case <-p.ended: //nolint:errcheck // how it ended does not matter
	case <-t.C:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended //nolint:errcheck // as above
	}
}

var errEnded = errors.New("it ended")

// await returns when address accepts connections.
func (p *process) await(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		var d net.Dialer
		if c, err := d.DialContext(ctx, "tcp", address); err == nil {
			return c.Close()
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			return fmt.Errorf("cannot use %s: %w: %v: %s", filepath.Base(p.cmd.Path), errEnded, err, p.output) //nolint:errorlint // err may be nil, which %w does not print
		case <-ctx.Done():
			return fmt.Errorf("cannot reach %s at %s: %w", filepath.Base(p.cmd.Path), address, ctx.Err())
		case <-retry.C:
		}
	}
}

// freeAddress is an address that nobody listens on now.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot find a free port: %w", err)
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}
