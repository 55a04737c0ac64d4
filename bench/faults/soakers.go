//go:build linux

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// soakers are the clients of a soak.
type soakers struct {
	address string
	seed    uint64
	asked   atomic.Int64

	mu     sync.Mutex // guards counts
	counts map[string]int
}

func newSoakers(o SoakOptions, address string) *soakers {
	return &soakers{address: address, seed: o.Seed, counts: map[string]int{}}
}

// String lists how often each habit was followed.
func (s *soakers) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, h := range habits {
		fmt.Fprintf(&b, "%7d  %s\n", s.counts[h.name], h.name)
	}
	return b.String()
}

// run follows one habit after the other until ctx ends. What goes wrong on the
// way is what a soak is about, and judged by what the gateway holds afterwards.
func (s *soakers) run(ctx context.Context, i int) {
	random := newRandom(s.seed, i)
	for ctx.Err() == nil {
		h := pick(random)
		c, err := Dial(ctx, s.address)
		if err != nil {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		s.asked.Add(1)
		h.follow(ctx, c, random)
		_ = c.Close()
		s.mu.Lock()
		s.counts[h.name]++
		s.mu.Unlock()
	}
}

// pick draws a habit.
func pick(r *rand.Rand) *habit {
	all := 0
	for i := range habits {
		all += habits[i].often
	}
	n := r.IntN(all)
	for i := range habits {
		if n -= habits[i].often; n < 0 {
			return &habits[i]
		}
	}
	panic("BUG: a draw beyond the sum of all")
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// habit is one way of using a connection. The connection is closed after it.
type habit struct {
	name   string
	often  int // in relation to the others; those that take long are rare
	follow func(ctx context.Context, c *Client, r *rand.Rand)
}

var habits = []habit{
	{"stream, read to the end", 16, func(_ context.Context, c *Client, r *rand.Rand) {
		_, _ = c.Do((&Chat{Tokens: 1 + r.IntN(60), Stream: true}).Raw())
	}},
	{"one piece, read to the end", 16, func(_ context.Context, c *Client, r *rand.Rand) {
		_, _ = c.Do((&Chat{Tokens: 1 + r.IntN(60)}).Raw())
	}},
	{"several on one connection", 8, func(_ context.Context, c *Client, r *rand.Rand) {
		for range 2 + r.IntN(6) {
			if a, err := c.Do((&Chat{Tokens: 1 + r.IntN(5), Stream: r.IntN(2) == 0}).Raw()); err != nil || a.Close || a.Cut != nil {
				return
			}
		}
	}},
	{"large prompt", 8, func(_ context.Context, c *Client, r *rand.Rand) {
		_, _ = c.Do((&Chat{Prompt: strings.Repeat("many words ", 1+r.IntN(10_000)), Tokens: 3, Stream: r.IntN(2) == 0}).Raw())
	}},
	{"leaves while waiting", 16, func(ctx context.Context, c *Client, r *rand.Rand) {
		_ = c.Send((&Chat{Prompt: strings.Repeat("word ", r.IntN(3000)), Tokens: 500, Stream: r.IntN(2) == 0}).Raw())
		pause(ctx, time.Duration(r.IntN(30))*time.Millisecond)
		leave(c, r)
	}},
	{"leaves mid-stream", 16, func(_ context.Context, c *Client, r *rand.Rand) {
		if c.Send((&Chat{Tokens: 5000, Stream: true}).Raw()) != nil {
			return
		}
		if a, err := c.Receive(); err == nil {
			for n := r.IntN(50); n > 0 && a.Event() == nil; n-- {
			}
		}
		leave(c, r)
	}},
	{"leaves inside its own request", 16, func(ctx context.Context, c *Client, r *rand.Rand) {
		raw := (&Chat{Prompt: strings.Repeat("word ", 2000)}).Raw()
		_ = c.Send(raw[:r.IntN(len(raw))])
		pause(ctx, time.Duration(r.IntN(20))*time.Millisecond)
		leave(c, r)
	}},
	{"stops reading", 1, func(ctx context.Context, c *Client, _ *rand.Rand) {
		_ = c.Conn.SetReadBuffer(4 << 10)
		_ = c.Send((&Chat{Tokens: 5000, Stream: true}).Raw())
		pause(ctx, 4*time.Second)
	}},
	{"reads slowly", 2, func(ctx context.Context, c *Client, r *rand.Rand) {
		if c.Send((&Chat{Tokens: 100, Stream: true}).Raw()) != nil {
			return
		}
		a, err := c.Receive()
		for n := 0; err == nil && n < 100; n++ {
			err = a.Event()
			pause(ctx, time.Duration(r.IntN(15))*time.Millisecond)
		}
	}},
	{"trickles its head", 1, func(ctx context.Context, c *Client, _ *rand.Rand) {
		for _, b := range []byte("POST /v1/chat/completions HTTP/1.1\r\n") {
			if c.Send(string(b)) != nil {
				return
			}
			pause(ctx, 40*time.Millisecond)
		}
	}},
	{"connects and says nothing", 1, func(ctx context.Context, _ *Client, r *rand.Rand) {
		pause(ctx, time.Duration(r.IntN(3000))*time.Millisecond)
	}},
	{"sends nonsense", 16, func(_ context.Context, c *Client, r *rand.Rand) {
		_, _ = c.Do(nonsense[r.IntN(len(nonsense))])
	}},
}

// nonsense is refused, each for another reason.
var nonsense = []string{
	"GET / HTTP/1.1\r\n\r\n",
	"\x16\x03\x01\x02\x00\x01\x00\x01",
	RawPost("/v1/chat/completions", "{"),
	RawPost("/v1/chat/completions", strings.Repeat("[", 1<<16)),
	RawPost("/v1/nowhere", "{}"),
	"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Length: 1073741824\r\n\r\n",
	"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
	"GET /v1/models HTTP/1.1\r\nHost: g\r\nX-A: " + strings.Repeat("a", 20_000) + "\r\n\r\n",
}

// leave ends the connection in good form or with a reset.
func leave(c *Client, r *rand.Rand) {
	if r.IntN(2) == 0 {
		_ = c.Reset()
		return
	}
	_ = c.Close()
}
