//go:build linux

package faults

import (
	"net/http"
	"testing"
)

// The judge must have teeth: what it says of answers whose end is known.
func TestAnswersAreJudgedByTheirEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		whole        bool
	}{
		{"chunked, whole", sseHead("Transfer-Encoding: chunked") + chunk(event("a")+finished+done) + "0\r\n\r\n", true},
		{"chunked, good end without [DONE]", sseHead("Transfer-Encoding: chunked") + chunk(event("a")) + "0\r\n\r\n", true},
		{"chunked, [DONE] without a good end", sseHead("Transfer-Encoding: chunked") + chunk(event("a")+done), true},
		{"chunked, cut", sseHead("Transfer-Encoding: chunked") + chunk(event("a")), false},
		{"chunked, inside the last chunk", sseHead("Transfer-Encoding: chunked") + chunk(event("a")) + "0\r\n", false},
		{"error event", sseHead("Transfer-Encoding: chunked") + chunk(`data: {"error":{"message":"x"}}`+"\n\n"+done) + "0\r\n\r\n", false},
		{"close-delimited, cut", sseHead() + event("a"), true}, // such a client cannot know
		{"JSON, whole", jsonAnswer("a"), true},
		{"JSON, short", head("application/json", "Content-Length: 100") + `{"choices":[`, false},
		{"JSON, refused", statusAnswer(503), false},
		{"message_stop", sseHead("Transfer-Encoding: chunked") + chunk(`data: {"type":"message_stop"}`+"\n\n"), true},
		{"response.failed", sseHead("Transfer-Encoding: chunked") + chunk(`data: {"type":"response.failed"}`+"\n\n") + "0\r\n\r\n", false},
	} {
		s := script(t, func(conn *tcp, _ *http.Request, _ []byte) bool {
			_ = say(conn, c.answer)
			return false
		})
		a, err := Ask(t.Context(), s.URL[len("http://"):], (&Chat{}).Raw())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if a.Complete() != c.whole {
			t.Errorf("%s: got %s, want whole %t", c.name, a, c.whole)
		}
	}
}

func TestOutputsAreJoinedInTheirOrder(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"choices":[{"delta":{"role":"assistant","content":"a"}},{"message":{"content":"b"}}]}`: "ab",
		`{"type":"content_block_delta","delta":{"type":"text_delta","text":"c"}}`:                "c",
		`{"type":"response.output_text.delta","delta":"d"}`:                                      "d",
		`{"content":null,"usage":{"text":1}}`:                                                    "",
		`{"text":"e","broken`:                                                                    "e",
	} {
		if got := outputs([]byte(in)); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestMetricsAreSummedByLabel(t *testing.T) {
	t.Parallel()
	m := parseMetrics("# HELP a x\na{p=\"1\",q=\"2\"} 3\na{p=\"2\"} 4\nab 9\nb 1e3\nc NaN-\n")
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{{"a", nil, 7}, {"a", []string{`p="1"`}, 3}, {"a", []string{`p="1"`, `q="3"`}, 0}, {"b", nil, 1000}, {"c", nil, 0}} {
		if got := m.Sum(c.name, c.labels...); got != c.want {
			t.Errorf("%s %v: got %g, want %g", c.name, c.labels, got, c.want)
		}
	}
}

func TestIdleWorkersAndTheQuestionItselfAreNotCounted(t *testing.T) {
	t.Parallel()
	profile := `goroutine profile: total 9
2 @ 0x1
#	0x1	penstock/proxy/relay.(*loop).run+0x1	loop.go:1

3 @ 0x2
#	0x2	github.com/valyala/fasthttp.(*workerPool).workerFunc+0x5	workerpool.go:1
#	0x3	github.com/valyala/fasthttp.(*workerPool).getCh.func1+0x5	workerpool.go:2

1 @ 0x3
#	0x1	net.(*conn).Read+0x1	net.go:1
#	0x2	github.com/valyala/fasthttp.(*workerPool).workerFunc+0x5	workerpool.go:1

3 @ 0x4
#	0x1	runtime/pprof.x+0x1	pprof.go:1
#	0x2	net/http.(*conn).serve+0x1	server.go:1
`
	if got := countGoroutines(profile); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

func TestFootprintAboveNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	base := Footprint{Goroutines: 10, Files: 5}
	if over := (&Footprint{Goroutines: 9, Files: 5}).Above(base); over != "" {
		t.Errorf("got %q", over)
	}
	if over := (&Footprint{Goroutines: 11, Leases: 1}).Above(base); over != "1 leases (want 0), 11 goroutines (want 10)" {
		t.Errorf("got %q", over)
	}
}
