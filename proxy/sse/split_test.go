package sse

import (
	"bytes"
	"strings"
	"testing"
)

// naive is an independent reference: it cuts a whole stream into lines and
// events, and returns for each event its bytes, with the LF of a final CRLF.
func naive(stream string) (events []string, rest string) {
	start, lineEmpty := 0, true
	for i := 0; i < len(stream); i++ {
		c := stream[i]
		if c != '\n' && c != '\r' {
			lineEmpty = false
			continue
		}
		if c == '\r' && i+1 < len(stream) && stream[i+1] == '\n' {
			i++
		}
		if lineEmpty {
			events = append(events, stream[start:i+1])
			start = i + 1
		}
		lineEmpty = true
	}
	return events, stream[start:]
}

// naiveData returns the data lines of an event joined, and whether there are any.
func naiveData(event string) (string, bool) {
	var data []string
	text := strings.ReplaceAll(strings.ReplaceAll(event, "\r\n", "\n"), "\r", "\n")
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		if name == "data" {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return strings.Join(data, "\n"), len(data) > 0
}

// pieces cuts a stream by the bytes of a seed.
func pieces(stream string, cuts []byte) []string {
	var all []string
	for _, c := range cuts {
		n := min(int(c), len(stream))
		all = append(all, stream[:n])
		stream = stream[n:]
	}
	return append(all, stream)
}

// FuzzSplits: however a stream is cut, the state is the same; events and the
// boundary of the whole agree with the reference; what UsageFilter lets through
// is the stream without the usage-only events.
func FuzzSplits(f *testing.F) {
	for i, s := range []string{chatStream, responsesStream, messagesStream, generateStream} {
		f.Add(s, []byte{1, 7, 100, 3, 0, 255, 17}, uint8(i+1), uint16(0))
		f.Add(strings.ReplaceAll(s, "\n", "\r\n"), bytes.Repeat([]byte{1}, 300), uint8(i+1), uint16(150))
	}
	f.Add("\r\n\r\n\ndata: a\r\rdata:b\n\r\n:c\r\n\rdata: {\"choices\":[],\"usage\":{}}\r\n\r\ndata", []byte{1, 1, 1, 1, 5, 5, 5}, uint8(1), uint16(9))
	f.Add("\xef\xbb\xbfdata: [DONE]\n\n", []byte{1, 1, 1}, uint8(1), uint16(0))
	f.Fuzz(func(t *testing.T, stream string, cuts []byte, a uint8, limit uint16) {
		api := API(a) % (APIGenerate + 1)
		whole, one := track(api, int(limit), stream)
		split, parts := track(api, int(limit), pieces(stream, cuts)...)
		if whole != split {
			t.Fatalf("state depends on the cuts:\n%+v\n%+v", whole, split)
		}
		sum := Boundary{}
		for _, p := range parts {
			sum.Events, sum.Content, sum.Comments = sum.Events+p.Events, sum.Content+p.Content, sum.Comments+p.Comments
		}
		if sum.Events != whole.Events || sum.Content != whole.ContentEvents || sum.Comments != whole.Comments {
			t.Fatalf("boundaries add up to %+v, state is %+v", sum, whole)
		}
		events, rest := naive(stream)
		if one[0].End != len(stream)-len(rest) {
			t.Fatalf("boundary %d, reference %d", one[0].End, len(stream)-len(rest))
		}
		if strings.HasPrefix(stream, "\xef\xbb\xbf") || limit > 0 && int(limit) < len(stream) {
			return // the reference knows neither
		}
		checkAgainst(t, api, stream, events, rest, whole, cuts)
	})
}

func checkAgainst(t *testing.T, api API, stream string, events []string, rest string, got State, cuts []byte) {
	t.Helper()
	n, done, left := 0, false, ""
	for _, e := range events {
		data, ok := naiveData(e)
		if ok {
			n++
			done = done || strings.TrimSpace(data) == "[DONE]"
		}
		if f, valid := chunk([]byte(data)); !ok || !valid || f.choices != 0 || !f.usage || f.failed || f.content {
			left += e
		}
	}
	if n != got.Events || api.endsWithDone() && done != got.Done {
		t.Fatalf("reference: %d events, done %v; got %+v", n, done, got)
	}
	for _, chunks := range [][]string{{stream}, pieces(stream, cuts)} {
		var u UsageFilter
		u.Reset()
		var out []byte
		for _, c := range chunks {
			out = u.Append(out, []byte(c))
		}
		if out = u.Flush(out); string(out) != left+rest {
			t.Fatalf("filter of %q\n got %q\nwant %q", stream, out, left+rest)
		}
	}
}

func TestUsageFilterRemovesOnlyTheUsageEvent(t *testing.T) {
	t.Parallel()
	usage := chatStream[strings.Index(chatStream, `data: {"id":"c","choices":[]`):strings.Index(chatStream, "data: [DONE]\n\n")]
	want := strings.Replace(chatStream, usage, "", 1)
	for n := 1; n < 60; n++ {
		var u UsageFilter
		u.Reset()
		var out []byte
		for i := 0; i < len(chatStream); i += n {
			out = u.Append(out, []byte(chatStream[i:min(i+n, len(chatStream))]))
		}
		if out = u.Flush(out); string(out) != want || u.Removed() != 1 {
			t.Fatalf("in pieces of %d: removed %d, %q", n, u.Removed(), out)
		}
	}
}

func TestUsageFilterPassesLongEventsAsTheyCome(t *testing.T) {
	t.Parallel()
	stream := "data: " + strings.Repeat("x", 300) + "\n\ndata: [DONE]\n\ndata: half"
	for _, n := range []int{1, 10, 99, 1000} {
		u := UsageFilter{Limit: 64}
		u.Reset()
		var out []byte
		for i := 0; i < len(stream); i += n {
			fed := min(i+n, len(stream))
			out = u.Append(out, []byte(stream[i:fed]))
			if fed-len(out) > 64 {
				t.Fatalf("%d bytes held back", fed-len(out))
			}
			if u.AtBoundary() != (len(out) == 0 || strings.HasSuffix(string(out), "\n\n")) {
				t.Fatalf("AtBoundary %v after %q", u.AtBoundary(), out)
			}
			if !strings.HasPrefix(stream, string(out)) {
				t.Fatalf("not in order: %q", out)
			}
		}
		if out = u.Flush(out); string(out) != stream {
			t.Fatalf("in pieces of %d: %q", n, out)
		}
	}
}
