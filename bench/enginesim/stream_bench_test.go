package enginesim

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkStream reports events per second of 32 streams at a time over real
// sockets, client included.
func BenchmarkStream(b *testing.B) {
	s, err := New(instant(VLLM))
	if err != nil {
		b.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	defer func() {
		tr.CloseIdleConnections()
		_ = s.Close()
		<-done
	}()
	client := &http.Client{Transport: tr}
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Post("http://"+ln.Addr().String()+"/v1/chat/completions", "application/json", strings.NewReader(longChat))
			if err != nil {
				b.Error(err)
				return
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if n := bytes.Count(body, []byte("\n\n")); n != 102 || err != nil {
				b.Errorf("%d events, want 102; %v", n, err)
			}
		}
	})
	b.ReportMetric(float64(b.N)*102/b.Elapsed().Seconds(), "events/s")
}

// TestChunkAllocations holds the encoder of the hot path to its budget: none.
func TestChunkAllocations(t *testing.T) {
	for _, w := range []wire{vllmWire{}, sglangWire{}, trtllmWire{}} {
		h := &head{id: "chatcmpl-0123456789abcdef", model: "m", created: 1}
		d := &delta{text: " water"}
		buf := make([]byte, 0, 1024)
		if n := testing.AllocsPerRun(100, func() { buf = w.chatEvent(buf[:0], h, d) }); n > 0 {
			t.Errorf("%T: %v allocations per chunk, want none", w, n)
		}
	}
}
