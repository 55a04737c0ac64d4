package loadgen

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"time"
)

// maxBody bounds an answer that is not streamed.
const maxBody = 64 << 20

// usage is what the engine says it worked on.
type usage struct {
	prompt, cached, completion int64
}

// judge decides whether an answer is complete, and when its tokens came.
type judge struct {
	events   events
	first    time.Time // first content
	last     time.Time // latest content
	end      time.Time // end mark
	gaps     []int64   // µs between contents; the slice is reused
	tokens   int64     // events with content
	finish   bool      // a finish reason was given
	done     bool      // [DONE]
	usage    usage
	received int64 // bytes
}

func (j *judge) reset() {
	j.events.reset()
	*j = judge{events: j.events, gaps: j.gaps[:0]}
}

// stream reads an answer of server-sent events to its end.
func (j *judge) stream(p *payload, now func() time.Time) error {
	var at time.Time
	each := func(data []byte) error { return j.event(data, at) }
	for {
		b, err := p.next()
		if err == io.EOF { //nolint:errorlint // payload returns it bare
			break
		}
		if err != nil {
			return err
		}
		at = now()
		j.received += int64(len(b))
		if err := j.events.feed(b, each); err != nil {
			return err
		}
	}
	if !j.done || !j.finish || j.events.pending() {
		return fail(Truncated, "the stream ended without finish_reason and [DONE]")
	}
	return nil
}

func (j *judge) event(data []byte, at time.Time) error {
	if j.done {
		return fail(WrongContent, "an event after [DONE]")
	}
	if string(data) == "[DONE]" {
		j.done, j.end = true, at
		return nil
	}
	if !json.Valid(data) {
		return fail(WrongContent, "an event that is not JSON")
	}
	if v := member(data, "error"); v != nil && !bytes.HasPrefix(v, []byte("null")) {
		return fail(ErrorEvent, "an error event")
	}
	if hasContent(data) {
		j.content(at)
	}
	if v := member(data, "finish_reason"); v != nil && v[0] == '"' {
		if bytes.HasPrefix(v, []byte(`"abort`)) || bytes.HasPrefix(v, []byte(`"error`)) {
			return fail(Aborted, "the engine aborted the answer")
		}
		j.finish = true
	}
	j.readUsage(data)
	return nil
}

func (j *judge) content(at time.Time) {
	j.tokens++
	if j.first.IsZero() {
		j.first = at
	} else {
		j.gaps = append(j.gaps, at.Sub(j.last).Microseconds())
	}
	j.last = at
}

// hasContent reports whether the event carries output, in any of the fields in
// which engines put it.
func hasContent(data []byte) bool {
	for _, key := range [...]string{"content", "text", "reasoning_content", "reasoning"} {
		if v := member(data, key); len(v) > 1 && v[0] == '"' && v[1] != '"' {
			return true
		}
	}
	v := member(data, "tool_calls")
	return len(v) > 1 && v[0] == '[' && v[1] != ']'
}

func (j *judge) readUsage(data []byte) {
	v := member(data, "usage")
	if v == nil || v[0] != '{' {
		return
	}
	j.usage = usage{number(v, "prompt_tokens"), number(v, "cached_tokens"), number(v, "completion_tokens")}
}

// member returns data from the value of the first member called key, at any
// depth, or nil. The name of a member cannot occur inside a string: its quotes
// would be escaped there.
func member(data []byte, key string) []byte {
	for from := 0; ; {
		i := bytes.Index(data[from:], []byte(key))
		if i < 0 {
			return nil
		}
		i += from
		from = i + len(key)
		if i == 0 || data[i-1] != '"' || i > 1 && data[i-2] == '\\' || from == len(data) || data[from] != '"' {
			continue
		}
		v := bytes.TrimLeft(data[from+1:], " \t\r\n")
		if len(v) > 1 && v[0] == ':' {
			return bytes.TrimLeft(v[1:], " \t\r\n")
		}
	}
}

func number(data []byte, key string) int64 {
	v := member(data, key)
	n := 0
	for n < len(v) && v[n] >= '0' && v[n] <= '9' {
		n++
	}
	x, _ := strconv.ParseInt(string(v[:n]), 10, 64) // 0 when it is null or absent
	return x
}

// answer is what a complete answer in one piece must hold.
type answer struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

// whole reads an answer that is not streamed. Its first content is its first
// byte.
func (j *judge) whole(p *payload, now func() time.Time) error {
	var body []byte
	for {
		b, err := p.next()
		if err == io.EOF { //nolint:errorlint // payload returns it bare
			break
		}
		if err != nil {
			return err
		}
		if j.first.IsZero() {
			j.first = now()
		}
		if body = append(body, b...); len(body) > maxBody {
			return fail(WrongContent, "answer too long")
		}
	}
	j.end, j.received = now(), int64(len(body))
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return fail(WrongContent, "an answer that is not JSON")
	}
	if len(a.Error) > 0 && string(a.Error) != "null" {
		return fail(ErrorEvent, "an error in an answer of status 200")
	}
	if len(a.Choices) == 0 {
		return fail(WrongContent, "an answer without choices")
	}
	for _, c := range a.Choices {
		switch c.FinishReason {
		case "":
			return fail(Truncated, "an answer without finish_reason")
		case "abort", "error":
			return fail(Aborted, "the engine aborted the answer")
		}
	}
	j.readUsage(body)
	j.tokens = j.usage.completion
	return nil
}
