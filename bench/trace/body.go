package trace

import (
	"encoding/json"
	"strconv"
)

// API is the shape of a request.
type API string

// The APIs.
const (
	Chat        API = "chat"
	Completions API = "completions"
)

// Path is the route of a.
func (a API) Path() string {
	if a == Completions {
		return "/v1/completions"
	}
	return "/v1/chat/completions"
}

// Synth turns requests into bodies. It is read-only in use: one value may serve
// several goroutines.
type Synth struct {
	Model     string
	API       API
	Streams   bool   // ask for server-sent events, usage included
	IgnoreEOS bool   // ask for exactly Output tokens (an engine extension)
	Salt      uint64 // another salt is other text with the same repetitions
}

// AppendBody appends the JSON body of request i of t.
func (s *Synth) AppendBody(dst []byte, t *Trace, i int) []byte {
	q := &t.Requests[i]
	dst = append(dst, `{"model":`...)
	dst = appendString(dst, s.Model)
	if s.API == Completions {
		dst = append(dst, `,"prompt":`...)
		dst = s.appendPrompt(dst, t, i)
	} else {
		dst = append(dst, `,"messages":[`...)
		dst = s.appendMessages(dst, t, i)
		dst = append(dst, ']')
	}
	if q.Output > 0 {
		dst = append(dst, `,"max_tokens":`...)
		dst = strconv.AppendInt(dst, int64(q.Output), 10)
		if s.IgnoreEOS {
			dst = append(dst, `,"ignore_eos":true`...)
		}
	}
	if s.Streams {
		dst = append(dst, `,"stream":true,"stream_options":{"include_usage":true}`...)
	}
	return append(dst, '}')
}

func (s *Synth) appendPrompt(dst []byte, t *Trace, i int) []byte {
	q := &t.Requests[i]
	if q.Messages == nil {
		dst = append(dst, '"')
		dst = s.appendBlocks(dst, t, i, 0, len(q.Blocks))
		return append(dst, '"')
	}
	var text []byte
	for _, m := range q.Messages {
		text = append(text, m.Role...)
		text = append(text, ": "...)
		text = append(text, m.Content...)
		text = append(text, '\n')
	}
	return appendString(dst, string(text))
}

// appendMessages makes the first block the system prompt, which is what leading
// blocks common to many requests are in practice.
func (s *Synth) appendMessages(dst []byte, t *Trace, i int) []byte {
	q := &t.Requests[i]
	for j, m := range q.Messages {
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"role":`...)
		dst = appendString(dst, m.Role)
		dst = append(dst, `,"content":`...)
		dst = appendString(dst, m.Content)
		dst = append(dst, '}')
	}
	if q.Messages != nil {
		return dst
	}
	from := 0
	if len(q.Blocks) > 1 {
		from = 1
		dst = append(dst, `{"role":"system","content":"`...)
		dst = s.appendBlocks(dst, t, i, 0, 1)
		dst = append(dst, `"},`...)
	}
	dst = append(dst, `{"role":"user","content":"`...)
	dst = s.appendBlocks(dst, t, i, from, len(q.Blocks))
	return append(dst, `"}`...)
}

// appendBlocks appends the text of blocks [from, to) of request i, the last of
// them cut to the length of the prompt. A prompt without blocks is unlike any
// other.
func (s *Synth) appendBlocks(dst []byte, t *Trace, i, from, to int) []byte {
	q := &t.Requests[i]
	if len(q.Blocks) == 0 {
		return AppendText(dst, scramble(uint64(i), s.Salt^0xa0761d6478bd642f), q.Input*bytesPerToken)
	}
	for b := from; b < to; b++ {
		n := min(t.BlockTokens, q.Input-b*t.BlockTokens)
		if n <= 0 {
			break
		}
		dst = AppendText(dst, scramble(q.Blocks[b], s.Salt), n*bytesPerToken)
	}
	return dst
}

// appendString appends text as a JSON string.
func appendString(dst []byte, text string) []byte {
	plain := true
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		dst = append(dst, '"')
		dst = append(dst, text...)
		return append(dst, '"')
	}
	b, err := json.Marshal(text)
	if err != nil {
		panic("BUG: a string does not marshal: " + err.Error())
	}
	return append(dst, b...)
}
