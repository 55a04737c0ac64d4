package chattemplate

import (
	"bytes"

	"penstock/routing/chattemplate/value"
)

// continueTag marks the end of the message to be continued while a template renders
// it; transformers 5.19, utils/chat_template_utils.py.
const continueTag = "CONTINUE_FINAL_MESSAGE_TAG "

// tagFinal puts the tag behind the last text of the last message, in copies.
func (w *Worker) tagFinal(messages value.Value) (final []byte, tagged value.Value, ok bool) {
	items := messages.Items()
	last := w.mem.Clone(items[len(items)-1])
	content := last.Get("content")
	switch content.Kind() {
	case value.String:
		final = content.Bytes()
		w.mem.Set(last, "content", w.tagText(final))
	case value.List:
		if final, content, ok = w.tagPart(content); !ok {
			return nil, messages, false
		}
		w.mem.Set(last, "content", content)
	default:
		return nil, messages, false
	}
	tagged = w.mem.NewList(len(items))
	for _, m := range items[:len(items)-1] {
		w.mem.Add(tagged, m)
	}
	w.mem.Add(tagged, last)
	return final, tagged, true
}

// tagPart puts the tag behind the last part that has a text.
func (w *Worker) tagPart(parts value.Value) (final []byte, tagged value.Value, ok bool) {
	items := parts.Items()
	at := len(items) - 1
	for at >= 0 && !items[at].Has("text") {
		at--
	}
	if at < 0 || items[at].Get("text").Kind() != value.String {
		return nil, parts, false
	}
	final = items[at].Get("text").Bytes()
	tagged = w.mem.NewList(len(items))
	for i, item := range items {
		if i == at {
			item = w.mem.Clone(item)
			w.mem.Set(item, "text", w.tagText(final))
		}
		w.mem.Add(tagged, item)
	}
	return final, tagged, true
}

func (w *Worker) tagText(text []byte) value.Value {
	tagged := w.mem.Text(len(text) + len(continueTag))
	copy(tagged[copy(tagged, text):], continueTag)
	return value.NewString(tagged)
}

// cutFinal cuts a rendering at the last tag. Where the template has trimmed the
// message, and so the tag's space, what is before it is trimmed too.
func cutFinal(rendered, final []byte) ([]byte, Reason) {
	bare := []byte(continueTag[:len(continueTag)-1])
	at := bytes.LastIndex(rendered, bare)
	if at < 0 || !bytes.Contains(rendered, pythonStrip(final)) {
		return rendered, ReasonBadRequest
	}
	if bytes.HasPrefix(rendered[at:], []byte(continueTag)) {
		return rendered[:at], ""
	}
	return pythonRightStrip(rendered[:at]), ""
}
