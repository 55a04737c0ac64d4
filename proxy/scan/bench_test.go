package scan

import (
	"encoding/json"
	"strings"
	"testing"
)

// chatBody builds a chat request of about size bytes from prose with escapes.
func chatBody(size int) []byte {
	const prose = `The replica answers with one event per step; the gateway forwards it at once.\nIt never \"buffers\". `
	var b strings.Builder
	b.WriteString(`{"model":"llama-3.1-8b-instruct","stream":true,"temperature":0.7,"max_tokens":256,"messages":[{"role":"system","content":"You are a careful assistant."}`)
	for b.Len() < size-len(prose) {
		b.WriteString(`,{"role":"user","content":"`)
		for n := 0; n < 2000 && b.Len() < size-len(prose); n += len(prose) {
			b.WriteString(prose)
		}
		b.WriteString(`"}`)
	}
	b.WriteString(`],"stream_options":{"include_usage":true}}`)
	return []byte(b.String())
}

func tokenBody(n int) []byte {
	return []byte(`{"model":"m","prompt":[` + strings.Repeat("12345,", n) + `1]}`)
}

func BenchmarkScan(b *testing.B) {
	for _, c := range []struct {
		name string
		kind Kind
		body []byte
	}{
		{"chat1KiB", KindChat, chatBody(1 << 10)},
		{"chat32KiB", KindChat, chatBody(32 << 10)},
		{"chat1MiB", KindChat, chatBody(1 << 20)},
		{"cjk32KiB", KindChat, []byte(`{"messages":[{"content":"` + strings.Repeat("推理网关", 2700) + `"}]}`)},
		{"image1MiB", KindChat, []byte(`{"messages":[{"content":[{"image_url":{"url":"data:` + strings.Repeat("QUJD", 1<<18) + `"}}]}]}`)},
		{"tokens10k", KindCompletions, tokenBody(10_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var r Result
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Scan(c.body, c.kind, Limits{}, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStdlibValid32KiB(b *testing.B) {
	body := chatBody(32 << 10)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if !json.Valid(body) {
			b.Fatal("invalid")
		}
	}
}

func BenchmarkEdit1KiB(b *testing.B) {
	body := chatBody(1 << 10)
	var r Result
	var e Editor
	var dst []byte
	if err := Scan(body, KindChat, Limits{}, &r); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		e.Reset(body, &r)
		e.CutInjected()
		e.SetModel("other")
		e.SetString(FieldCacheSalt, "salt")
		dst = e.Append(dst[:0])
	}
}

// Budget: 0 allocations per scan and per edit once warm.
func TestWarmScanAndEditDoNotAllocate(t *testing.T) {
	body := []byte(`{"model":"a\u00e9","rid":1,"mod\u0065x":1,"bootstrap_x":2,"stream_options":{"x":1},"messages":[{"content":[{"type":"image","data":"x"}]}],"n":3}`)
	var r Result
	var e Editor
	var dst []byte
	n := testing.AllocsPerRun(100, func() {
		if err := Scan(body, KindChat, Limits{}, &r); err != nil {
			t.Fatal(err)
		}
		e.Reset(body, &r)
		e.CutInjected()
		e.SetModel("other")
		e.IncludeUsage()
		e.SetString(FieldCacheSalt, "salt")
		dst = e.Append(dst[:0])
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
