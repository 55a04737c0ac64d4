package zmq

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// Options is how one publisher is listened to. Zero values of durations and sizes take
// the defaults.
type Options struct {
	// Endpoint of the PUB socket: tcp://host:port or ipc://path. The engine binds it.
	Endpoint string
	// ReplayEndpoint of the ROUTER socket, "" if there is none.
	ReplayEndpoint string
	// Topic is what topics must begin with; "" takes all.
	Topic string
	// MaxMessage bounds a message, in bytes; a larger one ends the connection.
	// Default 16 MiB: a batch of a million tokens takes five.
	MaxMessage int
	// ConnectTimeout is for connecting and the handshake, each. Default 5 s.
	ConnectTimeout time.Duration
	// Idle is how long a publisher may be silent before it is asked for a sign of life,
	// which it must give within Silence. Defaults 5 s and 5 s. Peers older than
	// ZMTP 3.1 cannot be asked; the kernel's keep-alive stands in.
	Idle, Silence time.Duration
	// BackoffMin and BackoffMax bound the pause before connecting again; it doubles from
	// one to the other. Defaults 100 ms and 5 s.
	BackoffMin, BackoffMax time.Duration
	// Jitter draws from [0, 1); a pause is between half of it and the whole. Nil draws
	// none.
	Jitter func() float64
	// ReplayIdle is how long a replay may pause before it counts as cut. Default 10 s:
	// engines serve replays between two batches.
	ReplayIdle time.Duration
	// Dial connects; nil is a net.Dialer with keep-alive.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Report, if not nil, is told why connections and replays ended. It is called from
	// Run's goroutine.
	Report func(error)
}

// maxParts is more than the four that any publisher sends.
const maxParts = 8

func (o *Options) defaults() {
	orDefault(&o.ConnectTimeout, 5*time.Second)
	orDefault(&o.Idle, 5*time.Second)
	orDefault(&o.Silence, 5*time.Second)
	orDefault(&o.BackoffMin, 100*time.Millisecond)
	orDefault(&o.BackoffMax, 5*time.Second)
	orDefault(&o.ReplayIdle, 10*time.Second)
	if o.MaxMessage == 0 {
		o.MaxMessage = 16 << 20
	}
	if o.Jitter == nil {
		o.Jitter = func() float64 { return 1 }
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Dial == nil {
		d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
		}}
		o.Dial = d.DialContext
	}
}

func orDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// validate says what is wrong with the options.
func (o *Options) validate() error {
	if o.MaxMessage < 0 || min(o.ConnectTimeout, o.Idle, o.Silence, o.BackoffMin, o.BackoffMax, o.ReplayIdle) < 0 {
		return fmt.Errorf("cannot listen to %q with a negative limit", o.Endpoint)
	}
	if _, _, err := address(o.Endpoint); err != nil {
		return err
	}
	if o.ReplayEndpoint == "" {
		return nil
	}
	_, _, err := address(o.ReplayEndpoint)
	return err
}

// address is an endpoint as package net knows it.
func address(endpoint string) (network, addr string, err error) {
	if path, ok := strings.CutPrefix(endpoint, "ipc://"); ok && path != "" {
		return "unix", path, nil // a leading @ is an abstract name in both
	}
	addr, ok := strings.CutPrefix(endpoint, "tcp://")
	if !ok {
		return "", "", fmt.Errorf("cannot use endpoint %q: want tcp://host:port or ipc://path", endpoint)
	}
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("cannot use endpoint %q: %w", endpoint, err)
	case host == "" || host == "*" || port == "":
		return "", "", fmt.Errorf("cannot connect to endpoint %q: it names no host", endpoint)
	}
	return "tcp", addr, nil
}
