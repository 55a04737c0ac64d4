package chattemplate

import "penstock/routing/chattemplate/value"

// withoutDevelopers makes system messages of a developer's, for a template that does
// not know the role, and merges all of them into one at the start.
func (w *Worker) withoutDevelopers(messages value.Value) value.Value {
	found := false
	for _, m := range messages.Items() {
		found = found || isText(m.Get("role"), "developer")
	}
	if !found {
		return messages
	}
	out := w.mem.NewList(messages.Len() + 1)
	systems := w.mem.NewList(4) // their texts
	merge := false
	var single value.Value // the system message, when it can stay
	for i, m := range messages.Items() {
		switch string(m.Get("role").Bytes()) {
		case "system":
			single = m
		case "developer":
			single = w.mem.Clone(m)
			w.mem.Set(single, "role", value.NewString([]byte("system")))
			w.mem.Delete(single, "tools")
		default:
			w.mem.Add(out, m)
			continue
		}
		merge = merge || i > 0 || systems.Len() > 0
		if text := w.flat(single.Get("content")); len(text) > 0 {
			w.mem.Add(systems, value.NewString(text))
		}
	}
	if merge {
		single = w.mem.NewDict(2)
		w.mem.Set(single, "role", value.NewString([]byte("system")))
		w.mem.Set(single, "content", value.NewString(w.joined(systems, "\n\n")))
	}
	return w.prepended(single, out)
}

func (w *Worker) prepended(first, list value.Value) value.Value {
	out := w.mem.NewList(1 + list.Len())
	w.mem.Add(out, first)
	for _, v := range list.Items() {
		w.mem.Add(out, v)
	}
	return out
}

// flat is the text of a content: itself, or its parts' joined by newlines.
func (w *Worker) flat(content value.Value) []byte {
	if content.Kind() != value.List {
		return textOf(content)
	}
	texts := w.mem.NewList(content.Len())
	for _, part := range content.Items() {
		if part.Has("text") {
			w.mem.Add(texts, part)
		}
	}
	return w.joined(texts, "\n")
}

// joined joins the texts of a list.
func (w *Worker) joined(list value.Value, separator string) []byte {
	size := 0
	for _, v := range list.Items() {
		size += len(textOf(v)) + len(separator)
	}
	out := w.mem.Text(size)[:0]
	for i, v := range list.Items() {
		if i > 0 {
			out = append(out, separator...)
		}
		out = append(out, textOf(v)...)
	}
	return out
}
