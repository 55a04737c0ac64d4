package sse

import (
	"fmt"
	"strings"
	"testing"
)

// events300 builds a chunk of n chat events of about 300 bytes.
func events300(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1790000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":null}],"system_fingerprint":null}`+"\n\n", i%10)
	}
	return []byte(b.String())
}

func BenchmarkFeed(b *testing.B) {
	perEvent := func(b *testing.B, api API, chunk []byte, events int) {
		b.Helper()
		var t Tracker
		t.Reset(api)
		b.SetBytes(int64(len(chunk)))
		b.ReportAllocs()
		for b.Loop() {
			t.Feed(chunk)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
	}
	b.Run("one", func(b *testing.B) { perEvent(b, APIChat, events300(1), 1) })
	b.Run("ten", func(b *testing.B) { perEvent(b, APIChat, events300(10), 10) })
	b.Run("walked", func(b *testing.B) {
		chunk := []byte(strings.ReplaceAll(string(events300(10)), " word", ` \"word`))
		perEvent(b, APIChat, chunk, 10)
	})
	b.Run("responses", func(b *testing.B) {
		e := "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","item_id":"msg_0123456789","output_index":0,"content_index":0,"delta":" word","sequence_number":17,"logprobs":[]}` + "\n\n"
		perEvent(b, APIResponses, []byte(e), 1)
	})
	b.Run("generate", func(b *testing.B) { perEvent(b, APIGenerate, []byte(generateStream), 3) })
	b.Run("halves", func(b *testing.B) {
		chunk := events300(1)
		var t Tracker
		t.Reset(APIChat)
		b.ReportAllocs()
		for b.Loop() {
			t.Feed(chunk[:150])
			t.Feed(chunk[150:])
		}
	})
}

func BenchmarkUsageFilter(b *testing.B) {
	chunk := events300(1)
	var u UsageFilter
	u.Reset()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = u.Append(dst[:0], chunk)
	}
}

// Budget: 0 allocations per chunk once warm, whole or cut.
func TestWarmTrackerDoesNotAllocate(t *testing.T) {
	var tr Tracker
	var u UsageFilter
	var dst []byte
	for api, stream := range map[API]string{APIChat: chatStream, APIResponses: responsesStream, APIMessages: messagesStream, APIGenerate: generateStream} {
		data := []byte(stream)
		n := testing.AllocsPerRun(50, func() {
			tr.Reset(api)
			u.Reset()
			dst = dst[:0]
			for i := 0; i < len(data); i += 100 {
				piece := data[i:min(i+100, len(data))]
				tr.Feed(piece)
				dst = u.Append(dst, piece)
			}
			dst = u.Flush(dst)
			if s := tr.State(); !s.Done {
				t.Error("not done")
			}
			FirstEvent(data)
			ErrorIn(data)
			UsageFromBody(api, data[6:])
			dst = AppendErrorEvent(dst[:0], api, Failure{Status: 502, Code: "c", Message: "m"})
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", api, n)
		}
	}
}
