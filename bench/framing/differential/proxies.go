package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"penstock/bench/framing"
)

// subject is one proxy of the comparison.
type subject struct {
	name    string
	version string
	start   func(dir, backend string) (framing.Target, func() error, error)
}

// errMissing is a proxy that is not installed.
var errMissing = errors.New("differential: proxy not installed")

// subjects lists the proxies in the order of the columns; Penstock comes first,
// nginx and HAProxy follow.
func subjects() ([]subject, error) {
	nginx, err := binary("nginx")
	if err != nil {
		return nil, err
	}
	haproxy, err := binary("haproxy")
	if err != nil {
		return nil, err
	}
	return []subject{
		{"Penstock", "this commit", startPenstock},
		{"nginx", versionOf(nginx), external(nginx, "nginx.conf", nginxConfig, "-p", ".", "-c", "nginx.conf")},
		{"HAProxy", versionOf(haproxy), external(haproxy, "haproxy.cfg", haproxyConfig, "-db", "-f", "haproxy.cfg")},
		{"net/http", runtime.Version(), startStandard},
	}, nil
}

// binary finds a program also where users who are not root do not look.
func binary(name string) (string, error) {
	for _, candidate := range []string{name, filepath.Join("/usr/sbin", name)} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot find %q: %w", name, errMissing)
}

func versionOf(path string) string {
	out, err := exec.Command(path, "-v").CombinedOutput()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	line, _, _ = strings.Cut(line, " - https")
	if _, version, found := strings.Cut(line, "nginx/"); found {
		return version
	}
	line = strings.TrimPrefix(line, "HAProxy version ")
	version, _, _ := strings.Cut(line, " ")
	return version
}

func startPenstock(_, backend string) (framing.Target, func() error, error) {
	g, err := framing.StartPenstock(backend)
	if err != nil {
		return framing.Target{}, nil, err
	}
	return g.Target(), g.Stop, nil
}

// Every proxy gets the limits that the size cases are made for and a second for
// whatever never ends.
const (
	phaseTimeout   = time.Second
	maxHeaderBytes = 16 << 10
	maxBodyBytes   = 1 << 20
)

const nginxConfig = `daemon off;
worker_processes 1;
error_log stderr crit;
pid nginx.pid;
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  client_header_timeout 1s; client_body_timeout 1s; keepalive_timeout 1s; lingering_timeout 1s;
  large_client_header_buffers 4 16k;
  client_max_body_size 1m;
  upstream engine { server %[2]s; keepalive 16; }
  server {
    listen unix:%[1]s;
    location / { proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`

const haproxyConfig = `defaults
  mode http
  timeout connect 1s
  timeout client 1s
  timeout server 2s
  timeout http-request 1s
  timeout http-keep-alive 1s
frontend in
  bind unix@%[1]s
  http-request deny deny_status 413 if { req.body_size gt 1048576 }
  default_backend engine
backend engine
  server engine %[2]s
`

// external starts a program with a configuration file in a directory of its own.
func external(path, file, config string, args ...string) func(dir, backend string) (framing.Target, func() error, error) {
	return func(dir, backend string) (framing.Target, func() error, error) {
		socket := filepath.Join(dir, "socket")
		text := fmt.Sprintf(config, socket, backend)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			return framing.Target{}, nil, fmt.Errorf("cannot configure %q: %w", path, err)
		}
		cmd := exec.Command(path, args...)
		cmd.Dir, cmd.WaitDelay = dir, phaseTimeout
		var output strings.Builder
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Start(); err != nil {
			return framing.Target{}, nil, fmt.Errorf("cannot start %q: %w", path, err)
		}
		stop := func() error {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait() // how it ends does not matter
			return nil
		}
		if err := awaitSocket(socket); err != nil {
			return framing.Target{}, nil, errors.Join(fmt.Errorf("%w: %s", err, output.String()), stop())
		}
		return framing.Target{Network: "unix", Address: socket}, stop, nil
	}
}

// awaitSocket waits until a server accepts on a Unix socket.
func awaitSocket(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot reach the proxy in time: %w", err)
		case <-tick.C:
		}
	}
}

// startStandard runs the reverse proxy of the standard library.
func startStandard(dir, backend string) (framing.Target, func() error, error) {
	socket := filepath.Join(dir, "socket")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		return framing.Target{}, nil, fmt.Errorf("cannot listen: %w", err)
	}
	to := &url.URL{Scheme: "http", Host: backend}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	transport := &http.Transport{DisableCompression: true}
	reverse := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ErrorLog: quiet, Transport: transport,
	}
	server := &http.Server{
		Handler:  http.MaxBytesHandler(reverse, maxBodyBytes),
		ErrorLog: quiet, MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: phaseTimeout, ReadTimeout: 2 * phaseTimeout, IdleTimeout: phaseTimeout,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	stop := func() error {
		err := server.Close()
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		transport.CloseIdleConnections()
		return err
	}
	return framing.Target{Network: "unix", Address: socket}, stop, nil
}
