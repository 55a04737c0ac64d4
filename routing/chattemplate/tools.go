package chattemplate

import "penstock/routing/chattemplate/value"

// vllmTools gives tools the form in which vLLM's ChatCompletionToolsParam is dumped:
// known keys only, in the order of the model's fields, and null where description or
// parameters are missing. No tools are None.
func (w *Worker) vllmTools(tools value.Value) (value.Value, Reason) {
	if absent(tools) {
		return value.NewNone(), ""
	}
	if tools.Kind() != value.List {
		return tools, ReasonBadRequest
	}
	switch w.r.profile.ToolProjection {
	case ToolsNone:
		return tools, ""
	case ToolsSGLang:
		return w.sglangTools(tools)
	default:
	}
	out := w.mem.NewList(tools.Len())
	for _, tool := range tools.Items() {
		projected, reason := w.vllmTool(tool)
		if reason != "" {
			return tools, reason
		}
		w.mem.Add(out, projected)
	}
	return out, ""
}

func (w *Worker) vllmTool(tool value.Value) (value.Value, Reason) {
	if kind := tool.Get("type"); kind.Kind() != value.Undefined && !isText(kind, "function") {
		return tool, ReasonBadRequest
	}
	outer, ok := optionalBool(tool.Get("defer_loading"))
	function, reason := w.vllmFunction(tool.Get("function"), outer)
	if !ok || reason != "" {
		return tool, ReasonBadRequest
	}
	out := w.mem.NewDict(3)
	w.mem.Set(out, "type", value.NewString([]byte("function")))
	w.mem.Set(out, "function", function)
	if !absent(outer) {
		w.mem.Set(out, "defer_loading", outer)
	}
	return out, ""
}

// vllmFunction is the dump of a FunctionDefinition, with the tool's own
// defer_loading where it has none.
func (w *Worker) vllmFunction(f, deferred value.Value) (value.Value, Reason) {
	name, description, parameters := f.Get("name"), f.Get("description"), f.Get("parameters")
	strict, ok := optionalBool(f.Get("strict"))
	own, ok2 := optionalBool(f.Get("defer_loading"))
	if name.Kind() != value.String || !ok || !ok2 ||
		!absent(description) && description.Kind() != value.String || !absent(parameters) && parameters.Kind() != value.Dict {
		return f, ReasonBadRequest
	}
	if absent(own) {
		own = deferred
	}
	out := w.mem.NewDict(5)
	w.mem.Set(out, "name", name)
	w.mem.Set(out, "description", orNone(description))
	w.mem.Set(out, "parameters", orNone(parameters))
	if !absent(strict) {
		w.mem.Set(out, "strict", strict)
	}
	if !absent(own) {
		w.mem.Set(out, "defer_loading", own)
	}
	return out, ""
}

func orNone(v value.Value) value.Value {
	if v.Kind() == value.Undefined {
		return value.NewNone()
	}
	return v
}

// optionalBool reads a lax boolean that may be missing or null.
func optionalBool(v value.Value) (value.Value, bool) {
	if absent(v) {
		return value.NewNone(), true
	}
	b, ok := laxBool(v, false)
	return value.NewBool(b), ok
}
