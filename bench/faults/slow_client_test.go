//go:build linux

package faults

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"penstock/configs"
)

// An engine that never stops sending, and clients that never read: what the
// gateway holds for them must not grow, and they must be cut.
func TestClientsThatDoNotReadHoldTheEngineBackAndAreCut(t *testing.T) {
	real(t)
	var wrote atomic.Int64
	cut := make(chan struct{}, 64)
	piece := chunk(event(strings.Repeat("x", 4000)))
	s := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
		for ok := say(c, sseHead("Transfer-Encoding: chunked")); ok; ok = say(c, piece) {
			wrote.Add(int64(len(piece)))
		}
		cut <- struct{}{}
		return false
	})
	g := start(t, []string{s.URL}, func(c *configs.Config) { c.Listen.WriteTimeout = ms(1500) })
	const clients = 20
	for range clients {
		c := g.dial()
		if err := c.Conn.SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		g.send(c, (&Chat{Stream: true}).Raw())
	}
	g.eventually("all streams", func() bool { return g.metric("penstock_streams") == clients })
	var most int64
	for range clients {
		if f, err := g.Footprint(t.Context()); err == nil {
			most = max(most, f.Resident)
		}
		await(t, cut, "the engine's connection closed")
	}
	// 64 KiB are queued per stream; the rest is in the kernel's buffers, which
	// grow to some megabytes on either side.
	if grown := most - g.base.Resident; grown > 24<<20 {
		t.Errorf("memory grew by %d MiB for %d clients", grown>>20, clients)
	}
	if n := wrote.Load() / clients; n > 32<<20 {
		t.Errorf("the engine sent %d MiB per client that does not read", n>>20)
	}
	g.eventually("streams counted as slow", func() bool {
		return g.metric("penstock_streams_cut_total", `reason="penstock_client_slow"`) == clients
	})
	g.breakersClosed()
	g.settles() // while the clients are still there
}

// A slow reader is not a stopped one: as long as something moves it is served.
func TestClientThatReadsSlowlyIsServed(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, func(c *configs.Config) { c.Listen.WriteTimeout = ms(1000) })
	c, a := g.open(&Chat{Tokens: 400, Stream: true}, 0)
	if err := c.Conn.SetReadBuffer(2 << 10); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if a.Event() != nil {
			break
		}
	}
	if !a.Complete() || !a.Clean {
		t.Errorf("got %s", a)
	}
}

// A non-streamed answer larger than the socket buffers, not read.
func TestLargeAnswerThatIsNotReadIsCut(t *testing.T) {
	real(t)
	size := 32 << 20
	cut := make(chan struct{}, 4)
	s := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
		ok := say(c, head("application/json", "Content-Length: "+itoa(size)))
		for sent := 0; ok && sent < size; sent += 64 << 10 {
			ok = say(c, strings.Repeat(" ", 64<<10))
		}
		if !ok {
			cut <- struct{}{}
		}
		return false
	})
	g := start(t, []string{s.URL}, func(c *configs.Config) { c.Listen.WriteTimeout = ms(1000) })
	c := g.dial()
	if err := c.Conn.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	g.send(c, (&Chat{}).Raw())
	await(t, cut, "the engine's connection closed")
	g.settles()
}

// A buffered answer goes out in one piece, which the kernel gives up on after
// user_timeout without room at the client.
func TestBufferedAnswerThatIsNotReadIsCut(t *testing.T) {
	real(t)
	text := strings.Repeat("x", 900<<10)
	s := script(t, func(c *tcp, _ *http.Request, _ []byte) bool { return say(c, jsonAnswer(text)) })
	g := start(t, []string{s.URL}, func(c *configs.Config) {
		c.Listen.WriteTimeout = ms(1000)
		c.Listen.IdleTimeout = ms(1000)
		c.Listen.UserTimeout = ms(2000)
	})
	c := g.dial()
	if err := c.Conn.SetReadBuffer(2 << 10); err != nil {
		t.Fatal(err)
	}
	// Several answers, pipelined, fill whatever the kernel buffers.
	for range 12 {
		g.send(c, (&Chat{}).Raw())
	}
	g.settles()
}

// slowly sends text byte by byte until it is over or the gateway has had enough,
// and returns what the gateway said.
func slowly(t *testing.T, c *Client, text string, pause time.Duration) string {
	t.Helper()
	said := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(c.Conn) // a reset is an answer, too
		said <- string(b)
	}()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	end := time.NewTimer(Patience - time.Second)
	defer end.Stop()
	for i := 0; ; i = min(i+1, len(text)-1) {
		select {
		case s := <-said:
			return s
		case <-end.C:
			t.Fatal("the gateway still listens")
		case <-tick.C:
			_, _ = c.Conn.Write([]byte{text[i]}) // its end shows in the reader
		}
	}
}

func TestSlowSenderIsTurnedAway(t *testing.T) {
	real(t)
	e := engine(t, 0)
	body := (&Chat{}).Body()
	chunked := "POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct{ first, slow, want string }{
		"nothing at all": {"", "", ""},
		"request line":   {"", "POST /v1/chat/completions HTTP/1.1\r\n", ""},
		"header fields":  {"POST /v1/chat/completions HTTP/1.1\r\n", strings.Repeat("A: b\r\n", 10_000), ""},
		"body":           {RawPost("/v1/chat/completions", strings.Repeat(" ", 9<<10))[:150], strings.Repeat(" ", 9<<10), "408"},
		// 408, or 400 when the time is over within a chunk's size: fasthttp does
		// not say why it could not read that.
		"chunks":    {chunked, strings.Repeat("1\r\n \r\n", 9<<10), "4"},
		"one chunk": {chunked + "fff\r\n", body, "408"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t, []string{e.URL}, func(c *configs.Config) {
				c.Listen.HeaderTimeout, c.Listen.IdleTimeout = ms(1000), ms(1500)
				c.Listen.BodyMinRate, c.Listen.MaxBodyBytes = 9<<10, 18<<10
			})
			client := g.dial()
			g.send(client, c.first)
			said := slowly(t, client, c.slow+" ", 50*time.Millisecond)
			if c.want != "" && !strings.HasPrefix(said, "HTTP/1.1 "+c.want) {
				t.Errorf("got %q, want %s", tail(said, 300), c.want)
			}
			g.settles()
		})
	}
}

func TestConnectionsBeyondTheLimitAreRefusedAndTheOthersServed(t *testing.T) {
	real(t)
	e := engine(t, 0)
	for name, set := range map[string]configure{
		"per address": func(c *configs.Config) { c.Listen.MaxConnectionsPerIP = 5 },
		"in all":      func(c *configs.Config) { c.Listen.MaxConnections = 5 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t, []string{e.URL}, set)
			g.refusesBeyond(5)
			g.asks((&Chat{}).Raw(), http.StatusOK)
		})
	}
}

// refusesBeyond opens twice the limit, checks who is served, and closes all.
func (r *rig) refusesBeyond(limit int) {
	r.t.Helper()
	var in, out []*Client
	for range limit {
		c := r.dial()
		if a, err := c.Do((&Chat{}).Raw()); err != nil || a.StatusCode != http.StatusOK {
			r.t.Fatalf("a client within the limit: %v, %v", a, err)
		}
		in = append(in, c)
	}
	for range limit {
		c := r.dial()
		_ = c.Send((&Chat{}).Raw()) // the gateway may have closed already
		a, err := c.Receive()
		if err == nil && a.StatusCode != http.StatusServiceUnavailable && a.StatusCode != http.StatusTooManyRequests {
			r.t.Errorf("a client beyond the limit: %s", a)
		}
		if err != nil && !closedByPeer(err) {
			r.t.Errorf("a client beyond the limit: %v", err)
		}
		out = append(out, c)
	}
	for _, c := range in {
		if a, err := c.Do((&Chat{}).Raw()); err != nil || a.StatusCode != http.StatusOK {
			r.t.Errorf("a client within the limit, later: %v, %v", a, err)
		}
	}
	for _, c := range append(in, out...) {
		_ = c.Close()
	}
	r.eventually("places free again", func() bool { return r.metric("penstock_client_connections") == 0 })
}

func closedByPeer(err error) bool {
	var timeout net.Error
	return err != nil && !(errors.As(err, &timeout) && timeout.Timeout()) && !errors.Is(err, context.DeadlineExceeded)
}
