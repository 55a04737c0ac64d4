package deepseek

import (
	"errors"
	"slices"

	"penstock/routing/chattemplate/value"
)

// Errors of Encode; test with errors.Is.
var (
	ErrRefused = errors.New("deepseek: the engine refuses the conversation")
	ErrUnusual = errors.New("deepseek: what the engine makes of it is not known")
)

// Options are the settings of one prompt.
type Options struct {
	Tools        value.Value // a List, or None
	Thinking     bool
	DropThinking bool   // V3.2: earlier reasoning is dropped whoever speaks last, as SGLang does
	KeepThinking bool   // V4: the request's drop_thinking is false
	Effort       string // V4: "low", "high" or "max"
}

// Encoder holds scratch memory; it is for one goroutine at a time.
type Encoder struct {
	Memory   *value.Memory
	messages []message
	blocks   []block
	sorted   []block
	style    value.Style
}

// role of a message's author.
type role uint8

const (
	other role = iota
	system
	developer
	user
	assistant
	tool
	latestReminder
)

// reasoningOf is what an assistant thought, by either of the names in use.
func reasoningOf(m value.Value) value.Value {
	if v := m.Get("reasoning"); v.Kind() != value.Undefined {
		return v
	}
	return m.Get("reasoning_content")
}

func roleOf(v value.Value) role {
	switch string(v.Get("role").Bytes()) {
	case "system":
		return system
	case "developer":
		return developer
	case "user":
		return user
	case "assistant":
		return assistant
	case "tool":
		return tool
	case "latest_reminder":
		return latestReminder
	default:
		return other
	}
}

// message is a message as it will be written.
type message struct {
	role      role
	from      value.Value // Undefined for one that is not the client's
	tools     value.Value // a List, or something without truth
	reasoning value.Value
	blocks    [2]int // V4: of a user, in Encoder.blocks
	task      value.Value
}

// block is a piece of a user's message in V4: a text or a tool's result.
type block struct {
	content value.Value
	result  bool
	order   int    // of the call among its message's
	id      []byte // of the call
}

// The tokens both versions share.
const (
	bos        = "<｜begin▁of▁sentence｜>"
	eos        = "<｜end▁of▁sentence｜>"
	userTurn   = "<｜User｜>"
	answerTurn = "<｜Assistant｜>"
	thinkStart = "<think>"
	thinkEnd   = "</think>"
	dsml       = "｜DSML｜"
)

// lastUser is the last message of a user or developer, -1 when there is none.
func lastUser(messages []message) int {
	for i := range slices.Backward(messages) {
		if r := messages[i].role; r == user || r == developer {
			return i
		}
	}
	return -1
}

// text is a content or reasoning that must be text; what is missing is empty.
func text(v value.Value) ([]byte, error) {
	switch v.Kind() {
	case value.String:
		return v.Bytes(), nil
	case value.Undefined, value.None:
		return nil, nil
	default:
		return nil, ErrUnusual
	}
}

// appendCalls appends the calls of an assistant in a block of the name given.
func (e *Encoder) appendCalls(dst []byte, calls value.Value, name string) []byte {
	dst = append(dst, "\n\n<"+dsml...)
	dst = append(append(dst, name...), ">\n"...)
	for i, call := range calls.Items() {
		if i > 0 {
			dst = append(dst, '\n')
		}
		f := call.Get("function")
		dst = append(dst, "<"+dsml+`invoke name="`...)
		dst = append(dst, f.Get("name").Bytes()...)
		dst = append(dst, "\">\n"...)
		dst = e.appendArguments(dst, f.Get("arguments"))
		dst = append(dst, "\n</"+dsml+"invoke>"...)
	}
	dst = append(dst, "\n</"+dsml...)
	return append(append(dst, name...), '>')
}

// appendArguments appends the arguments of a call, a line each: text as it is, all
// else as JSON.
func (e *Encoder) appendArguments(dst []byte, arguments value.Value) []byte {
	for i := range arguments.Len() {
		if i > 0 {
			dst = append(dst, '\n')
		}
		key, v := arguments.Entry(i)
		dst = append(dst, "<"+dsml+`parameter name="`...)
		dst = append(dst, key...)
		if v.Kind() == value.String {
			dst = append(dst, `" string="true">`...)
			dst = append(dst, v.Bytes()...)
		} else {
			dst = append(dst, `" string="false">`...)
			dst = e.json(dst, v)
		}
		dst = append(dst, "</"+dsml+"parameter>"...)
	}
	return dst
}

// appendSchemas appends the functions of tools, a line of JSON each.
func (e *Encoder) appendSchemas(dst []byte, tools value.Value) []byte {
	for i, t := range tools.Items() {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = e.json(dst, t.Get("function"))
	}
	return dst
}

// json appends v as Python's json.dumps(ensure_ascii=False) does.
func (e *Encoder) json(dst []byte, v value.Value) []byte {
	if e.style.Item == nil {
		e.style = value.Style{Item: []byte(", "), Key: []byte(": ")}
	}
	out, err := v.AppendStyled(dst, &e.style)
	if err != nil {
		return append(dst, "null"...) // of what no JSON makes
	}
	return out
}

// thought is the token that stands where thinking starts, or is skipped.
func thought(starts bool) string {
	if starts {
		return thinkStart
	}
	return thinkEnd
}
