package chattemplate

import (
	"errors"

	"penstock/routing/chattemplate/value"
)

// assistant adds what an assistant's message has besides role and content.
func (p *projection) assistant(out, m value.Value) Reason {
	if calls := m.Get("tool_calls"); !absent(calls) {
		projected, reason := p.calls(calls)
		if reason != "" {
			return reason
		}
		if projected.Len() > 0 {
			p.mem.Set(out, "tool_calls", projected)
		}
	}
	reasoning := m.Get("reasoning")
	if absent(reasoning) {
		reasoning = m.Get("reasoning_content")
	}
	if !absent(reasoning) {
		p.mem.Set(out, "reasoning", reasoning)
		p.mem.Set(out, "reasoning_content", reasoning)
	}
	return ""
}

// calls are tool calls with parsed arguments, their keys in the order of the OpenAI
// types that pydantic validates them against.
func (p *projection) calls(calls value.Value) (value.Value, Reason) {
	if calls.Kind() != value.List {
		return calls, ReasonBadRequest
	}
	out := p.mem.NewList(calls.Len())
	for _, call := range calls.Items() {
		f := call.Get("function")
		if call.Get("id").Kind() != value.String || !isText(call.Get("type"), "function") ||
			f.Get("name").Kind() != value.String || f.Get("arguments").Kind() != value.String {
			return calls, ReasonBadRequest
		}
		arguments, reason := p.arguments(f.Get("arguments").Bytes())
		if reason != "" {
			return calls, reason
		}
		p.mem.Add(out, p.call(call, arguments))
	}
	return out, ""
}

// call is one call with its arguments parsed.
func (p *projection) call(call, arguments value.Value) value.Value {
	f := call.Get("function")
	if p.keepCalls {
		function, projected := p.mem.Clone(f), p.mem.Clone(call)
		p.mem.Set(function, "arguments", arguments)
		p.mem.Set(projected, "function", function)
		return projected
	}
	function := p.mem.NewDict(f.Len())
	p.mem.Set(function, "arguments", arguments)
	p.mem.Set(function, "name", f.Get("name"))
	p.rest(function, f)
	projected := p.mem.NewDict(call.Len())
	p.mem.Set(projected, "id", call.Get("id"))
	p.mem.Set(projected, "function", function)
	p.mem.Set(projected, "type", call.Get("type"))
	p.rest(projected, call)
	return projected
}

// rest copies the entries of from that out lacks, in order.
func (w *Worker) rest(out, from value.Value) {
	for i := range from.Len() {
		if key := from.EntryKey(i); !out.Has(string(key.Bytes())) {
			w.mem.SetValue(out, key, from.EntryValue(i))
		}
	}
}

// arguments parses the arguments of a call; what is no JSON object becomes an empty
// one.
func (w *Worker) arguments(text []byte) (value.Value, Reason) {
	v, err := w.mem.Parse(text)
	switch {
	case errors.Is(err, value.ErrSurrogate):
		return v, ReasonLoneSurrogate
	case errors.Is(err, value.ErrDepth):
		return v, ReasonLimit
	case err != nil || v.Kind() != value.Dict || controlInString(text):
		return w.mem.NewDict(0), ""
	default:
		return v, ""
	}
}

// developerTools are the tools of a developer's message, in the key order of the
// OpenAI types.
func (p *projection) developerTools(tools value.Value) (value.Value, Reason) {
	if absent(tools) {
		return value.NewNone(), ""
	}
	if tools.Kind() != value.List {
		return tools, ReasonField
	}
	out := p.mem.NewList(tools.Len())
	for _, tool := range tools.Items() {
		f := tool.Get("function")
		if !isText(tool.Get("type"), "function") || f.Get("name").Kind() != value.String {
			return tools, ReasonField
		}
		function := p.mem.NewDict(f.Len())
		for _, key := range [...]string{"name", "description", "parameters", "strict"} {
			if v := f.Get(key); v.Kind() != value.Undefined {
				p.mem.Set(function, key, v)
			}
		}
		p.rest(function, f)
		projected := p.mem.NewDict(tool.Len())
		p.mem.Set(projected, "function", function)
		p.rest(projected, tool)
		p.mem.Add(out, projected)
	}
	return out, ""
}
