//go:build linux

package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

// Mortal is a simulated engine whose connections die after a random number of
// bytes: anywhere in a head, a chunk, an event or between two answers, in good
// form or with a reset. To the gateway that is an engine whose process was
// killed at that moment.
type Mortal struct {
	*Engine

	kills *atomic.Int64
}

// Lifespan says how many bytes a connection lives for, and whether a reset ends
// it. It is called for each connection, from several goroutines.
type Lifespan func() (bytes int, reset bool)

// RandomLives draws lives of up to most bytes, from a seed.
func RandomLives(seed uint64, most int) Lifespan {
	var mu sync.Mutex // guards r
	r := rand.New(rand.NewPCG(seed, seed))
	return func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(most), r.IntN(2) == 0
	}
}

// StartMortal serves an instant engine with such connections.
func StartMortal(ctx context.Context, life Lifespan) (*Mortal, error) {
	ln, err := Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &Mortal{kills: new(atomic.Int64)}
	m.Engine, err = ServeEngine(&mortalListener{Listener: ln, life: life, kills: m.kills}, EngineConfig())
	return m, err
}

// Kills is how many connections died so far.
func (m *Mortal) Kills() int64 { return m.kills.Load() }

type mortalListener struct {
	net.Listener
	life  Lifespan
	kills *atomic.Int64
}

// Accept gives each connection its span of life.
func (l *mortalListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	left, reset := l.life()
	return &mortalConn{TCPConn: c.(*net.TCPConn), left: left, reset: reset, kills: l.kills}, nil
}

type mortalConn struct {
	*net.TCPConn
	reset bool
	kills *atomic.Int64

	mu   sync.Mutex // guards left
	left int
}

// Write passes on what is left of the connection's life.
func (c *mortalConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left < 0 {
		return 0, os.ErrClosed
	}
	if len(p) <= c.left {
		c.left -= len(p)
		return c.TCPConn.Write(p)
	}
	n, err := c.TCPConn.Write(p[:c.left])
	c.left = -1
	c.kills.Add(1)
	if c.reset {
		err = errors.Join(err, c.TCPConn.SetLinger(0))
	}
	return n, errors.Join(err, c.TCPConn.Close(), os.ErrClosed)
}
