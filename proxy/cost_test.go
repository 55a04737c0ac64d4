package proxy

import (
	"bytes"
	"net"
	"runtime"
	"testing"
)

const rawAnswer = "HTTP/1.1 200 OK\r\ndate: Tue, 01 Dec 2026 00:00:00 GMT\r\nserver: uvicorn\r\ncontent-length: 74\r\ncontent-type: application/json\r\n\r\n" +
	`{"id":"x","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":9}}` + "\n"

// rawEngine answers each read with a fixed answer and allocates nothing.
func rawEngine(tb testing.TB) string {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf, answer := make([]byte, 64<<10), []byte(rawAnswer)
				for {
					if _, err := c.Read(buf); err != nil {
						return
					}
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}

// exchangeRaw sends one request on c and reads its answer into buf.
func exchangeRaw(c net.Conn, request, buf []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	n := 0
	for !bytes.HasSuffix(buf[:n], []byte("}}\n")) {
		m, err := c.Read(buf[n:])
		if err != nil {
			return err
		}
		n += m
	}
	return nil
}

// allocationBudget is what an ordinary request may allocate: its id, the model
// name, the lease, the breaker's callback, and what hides in a slow moment.
const allocationBudget = 8

func TestAnOrdinaryRequestAllocatesLittle(t *testing.T) {
	g := startGateway(t, "log: {access: false}\n"+poolYAML("", rawEngine(t)))
	c := g.raw("")
	request, buf := []byte(rawPost("1.1", "", chat)), make([]byte, 4096)
	const requests = 500
	run := func() {
		for range requests {
			if err := exchangeRaw(c, request, buf); err != nil {
				t.Fatal(err)
			}
		}
	}
	run() // warm
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	n := float64(after.Mallocs-before.Mallocs) / requests
	t.Logf("%.1f allocations per request", n)
	if n > allocationBudget*raceSlack {
		t.Fatalf("%.1f allocations per request, want at most %d", n, allocationBudget*raceSlack)
	}
}
