package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// leaveTest sends a request, waits until the engine has it (and, mid-stream,
// until the client has some of the answer), leaves, and expects the engine's
// connection to be closed although the engine is silent.
func leaveTest(t *testing.T, body string, midStream bool, leave func(net.Conn)) {
	t.Helper()
	arrived, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if midStream {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
			w.(http.Flusher).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})))
	c := g.raw(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	<-arrived
	if midStream {
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q %v", line, err)
		}
	}
	leave(c)
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Fatal("the engine still works for a client that left")
	}
	eventually(t, "settled", func() bool { return g.server.InFlight() == 0 && g.fleet.Leases() == 0 })
	s := g.fleet.Pools()[0].Snapshot()[0]
	if s.Breaker != "closed" || s.InFlight != 0 || s.Tokens != 0 {
		t.Fatalf("a client that left is held against the replica: %+v", s)
	}
}

func TestClientThatLeavesFreesTheEngine(t *testing.T) {
	t.Parallel()
	const stream = `{"model":"m","stream":true,"messages":[]}`
	leaves := map[string]func(net.Conn){
		"fin":        func(c net.Conn) { _ = c.Close() },
		"rst":        func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
		"half-close": func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite() },
	}
	for name, leave := range leaves {
		t.Run("before the first byte of a JSON answer, "+name, func(t *testing.T) {
			t.Parallel()
			leaveTest(t, chat, false, leave)
		})
		t.Run("before the first event, "+name, func(t *testing.T) {
			t.Parallel()
			leaveTest(t, stream, false, leave)
		})
		t.Run("mid-stream, "+name, func(t *testing.T) {
			t.Parallel()
			leaveTest(t, stream, true, leave)
		})
	}
}

func TestHalfCloseCanBeAllowed(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	g := startGateway(t, "listen: {half_close_is_gone: false}\n"+poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		_, _ = io.WriteString(w, "{}")
	})))
	c := g.raw(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(chat), chat))
	eventually(t, "in flight", func() bool { return g.fleet.Leases() == 1 })
	_ = c.(*net.TCPConn).CloseWrite()
	close(release)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
}
