package chattemplate

import (
	"penstock/routing/chattemplate/jinja"
	"penstock/routing/chattemplate/value"
)

// sglangVariables are what the template sees besides messages and tools.
func (w *Worker) sglangVariables(body value.Value, t *template) (value.Value, Reason) {
	vars := w.mem.NewDict(24)
	for _, v := range w.r.special {
		w.mem.Set(vars, v.name, v.val)
	}
	w.mem.Set(vars, "documents", value.NewNone())
	w.mem.Set(vars, "add_generation_prompt", value.NewBool(true))
	kwargs := body.Get("chat_template_kwargs")
	if !absent(kwargs) && kwargs.Kind() != value.Dict {
		return vars, ReasonBadRequest
	}
	effort, thinking, reason := w.sglangEffort(body, t)
	if reason != "" {
		return vars, reason
	}
	if own := kwargs.Get("reasoning_effort"); !absent(own) {
		effort = own // the request's kwarg becomes its effort
	}
	if !absent(effort) {
		w.mem.Set(vars, "reasoning_effort", effort)
	}
	all := w.mem.NewDict(8)
	for i := range kwargs.Len() {
		if key := kwargs.EntryKey(i); string(key.Bytes()) != "reasoning_effort" {
			w.mem.SetValue(all, key, kwargs.EntryValue(i))
		}
	}
	for _, key := range [...]string{"thinking", "enable_thinking"} {
		if thinking.Kind() == value.Bool && !all.Has(key) {
			w.mem.Set(all, key, thinking)
		}
	}
	for i := range w.r.kwargs.Len() {
		if key := w.r.kwargs.EntryKey(i); !all.Has(string(key.Bytes())) {
			w.mem.SetValue(all, key, w.r.kwargs.EntryValue(i))
		}
	}
	if all.Has("add_generation_prompt") || all.Has("continue_final_message") {
		return vars, ReasonField
	}
	return vars, w.addKwargs(vars, all, func(value.Value) bool { return true })
}

// sglangEffort is the reasoning effort, and whether it says to think.
func (w *Worker) sglangEffort(body value.Value, t *template) (effort, thinking value.Value, reason Reason) {
	if !absent(body.Get("reasoning")) {
		return effort, thinking, ReasonField
	}
	effort = body.Get("reasoning_effort")
	if absent(effort) {
		return value.NewNone(), thinking, ""
	}
	if !validEffort(effort) || w.r.version.before(sglangEffort()) || w.r.profile.ReasoningParser == "hunyuan" || t != nil && t.compiled.Uses("low_effort") {
		return effort, thinking, ReasonField
	}
	return effort, value.NewBool(!isText(effort, "none")), ""
}

// sglangChosenTools are the tools that the template sees: none for tool_choice none,
// and the chosen one when one is.
func (w *Worker) sglangChosenTools(body, messages value.Value) (value.Value, Reason) {
	none := value.NewNone()
	tools, choice := body.Get("tools"), body.Get("tool_choice")
	for _, m := range messages.Items() {
		if m.Get("tools").Truth() {
			return none, ReasonField
		}
	}
	if absent(tools) || isText(choice, "none") {
		return none, ""
	}
	if tools.Kind() != value.List {
		return none, ReasonBadRequest
	}
	if choice.Kind() == value.Dict {
		chosen := w.mem.NewList(1)
		for _, t := range tools.Items() {
			name := t.Get("function").Get("name").Bytes()
			if isText(choice.Get("function").Get("name"), string(name)) {
				w.mem.Add(chosen, t)
			}
		}
		tools = chosen
	}
	if tools.Len() == 0 {
		return none, ""
	}
	switch w.r.profile.ToolProjection {
	case ToolsNone:
		return tools, ""
	case ToolsVLLM:
		return w.vllmTools(tools)
	default:
		return w.sglangTools(tools)
	}
}

// sglangTools gives tools the form in which SGLang's Tool is dumped.
func (w *Worker) sglangTools(tools value.Value) (value.Value, Reason) {
	out := w.mem.NewList(tools.Len())
	for _, t := range tools.Items() {
		kind, f := t.Get("type"), t.Get("function")
		if kind.Kind() == value.Undefined {
			kind = value.NewString([]byte("function"))
		}
		outer, ok := optionalBool(t.Get("defer_loading"))
		function, reason := w.sglangFunction(f, outer)
		if reason != "" || !ok || kind.Kind() != value.String {
			return tools, firstReason(reason, ReasonBadRequest)
		}
		tool := w.mem.NewDict(3)
		w.mem.Set(tool, "type", kind)
		w.mem.Set(tool, "function", function)
		if !w.r.version.before(sglangDeferring()) {
			w.mem.Set(tool, "defer_loading", outer)
		}
		w.mem.Add(out, tool)
	}
	return out, ""
}

// sglangFunction has description, name, parameters and strict, in that order and
// whether they are there or not; from 0.5.23 on the client's keys come first, in its
// order, and strict only when it has one.
func (w *Worker) sglangFunction(f, outer value.Value) (value.Value, Reason) {
	old := w.r.version.before(sglangOrdered())
	if old && !w.r.version.before(sglangUnsure()) && w.r.version.before(sglangDeferring()) {
		return f, ReasonEngine
	}
	description, name := f.Get("description"), f.Get("name")
	strict, ok := optionalBool(f.Get("strict"))
	deferred, ok2 := optionalBool(f.Get("defer_loading"))
	if !ok || !ok2 || name.Kind() != value.String || !absent(description) && description.Kind() != value.String {
		return f, ReasonBadRequest
	}
	if absent(deferred) {
		deferred = outer
	}
	if old && f.Get("strict").Kind() == value.Undefined {
		strict = value.NewBool(false)
	}
	if old && absent(strict) {
		return f, ReasonBadRequest
	}
	plain := w.mem.NewDict(5)
	w.mem.Set(plain, "description", orNone(description))
	w.mem.Set(plain, "name", name)
	w.mem.Set(plain, "parameters", orNone(f.Get("parameters")))
	if !absent(strict) {
		w.mem.Set(plain, "strict", strict)
	}
	if !absent(deferred) && !w.r.version.before(sglangDeferring()) {
		w.mem.Set(plain, "defer_loading", deferred)
	}
	if old {
		return plain, ""
	}
	out := w.mem.NewDict(5)
	for i := range f.Len() {
		if key := f.EntryKey(i); plain.Has(string(key.Bytes())) {
			w.mem.SetValue(out, key, plain.Get(string(key.Bytes())))
		}
	}
	w.rest(out, plain)
	return out, ""
}

// sglangParts reports whether contents reach the template as lists of parts: SGLang
// looks for loops over the contents of message, msg or m, and takes every template
// that mentions media for one.
func (w *Worker) sglangParts(t *template) bool {
	switch w.r.profile.ContentFormat {
	case ContentString:
		return false
	case ContentParts:
		return true
	default:
		return t.sglang == jinja.FormatParts
	}
}
