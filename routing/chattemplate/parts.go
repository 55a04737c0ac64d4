package chattemplate

import (
	"bytes"
	"slices"

	"penstock/routing/chattemplate/value"
)

// medium is where a part that is no text lies in the conversation.
type medium struct{ message, part int }

// partKind says what became of a content part.
type partKind uint8

const (
	partText partKind = iota
	partReference
	partMedium
	partSkipped // it has no text
	partRefused // the engine refuses it
	partUnknown // nobody here knows
)

// knownPartFields are the fields of content parts that vLLM does not pass on; all
// others it does.
func knownPartField(key []byte) bool {
	switch string(key) {
	case "audio_embeds", "audio_url", "closed", "data", "file", "image_embeds", "image_pil", "image_url",
		"input_audio", "name", "prompt_cache_breakpoint", "refusal", "text", "thinking", "type", "uuid",
		"video_embeds", "video_url":
		return true
	default:
		return false
	}
}

// mediaKeys are the fields that make a part without a type a medium, in vLLM's order.
func mediaKeys() []string {
	return []string{"image_url", "image_pil", "image_embeds", "audio_embeds", "video_embeds", "prompt_embeds", "audio_url", "input_audio", "video_url"}
}

// modality is what vLLM calls a medium by its part's type; "" is none.
func modality(kind []byte) string {
	switch string(kind) {
	case "image_url", "input_image", "image_embeds", "image_pil":
		return "image"
	case "audio_url", "input_audio", "audio_embeds":
		return "audio"
	case "video_url", "video_embeds":
		return "video"
	case "prompt_embeds":
		return "prompt_embeds"
	default:
		return ""
	}
}

// part reads one content part.
func (p *projection) part(item value.Value) (value.Value, partKind) {
	if item.Kind() == value.String {
		return p.textPart(item, item)
	}
	if item.Kind() != value.Dict {
		return item, partRefused
	}
	kind := item.Get("type")
	if absent(item.Get("uuid")) && kind.Kind() == value.String {
		return p.typedPart(item, kind.Bytes())
	}
	if !absent(item.Get("uuid")) || absent(kind) {
		for _, key := range mediaKeys() {
			if item.Has(key) {
				return p.mediumPart(item, modality([]byte(key)))
			}
		}
		if item.Has("tool_reference") {
			return p.referencePart(item)
		}
	}
	return item, partRefused
}

func (p *projection) typedPart(item value.Value, kind []byte) (value.Value, partKind) {
	switch string(kind) {
	case "text", "input_text", "output_text":
		return p.textPart(item, item.Get("text"))
	case "thinking":
		return p.textPart(item, item.Get("thinking"))
	case "refusal":
		return p.textPart(item, item.Get("refusal"))
	case "tool_reference":
		return p.referencePart(item)
	}
	if m := modality(kind); m != "" {
		return p.mediumPart(item, m)
	}
	return item, partRefused
}

// textPart is a part with text; the part may be the text itself.
func (p *projection) textPart(item, text value.Value) (value.Value, partKind) {
	if absent(text) {
		if kind := item.Get("type"); p.parts && !isText(kind, "text") && !isText(kind, "refusal") {
			return item, partUnknown // None as a text
		}
		return item, partSkipped
	}
	if text.Kind() != value.String {
		return item, partUnknown
	}
	if p.role == "system" && (item.Kind() == value.String || isText(item.Get("type"), "text")) &&
		bytes.HasPrefix(text.Bytes(), []byte(billingHeader)) {
		_, rest, _ := bytes.Cut(text.Bytes(), []byte("\n"))
		if len(rest) == 0 {
			return item, partSkipped
		}
		text = value.NewString(rest)
	}
	if !p.parts {
		return text, partText
	}
	out := p.typed("text", 2+item.Len())
	p.mem.Set(out, "text", text)
	p.extras(out, item)
	return out, partText
}

// referencePart is a reference to a tool whose definition comes later.
func (p *projection) referencePart(item value.Value) (value.Value, partKind) {
	name := item.Get("name")
	switch {
	case !absent(name) && name.Kind() != value.String:
		return item, partUnknown
	case !p.parts && absent(name):
		return item, partSkipped
	case !p.parts:
		return name, partText
	}
	out := p.typed("tool_reference", 2)
	p.mem.Set(out, "name", orNone(name))
	return out, partReference
}

// mediumPart is a part that the engine turns into a placeholder.
func (p *projection) mediumPart(item value.Value, modality string) (value.Value, partKind) {
	if !p.parts {
		return value.NewString(nil), partMedium
	}
	if modality == "prompt_embeds" {
		out := p.typed("text", 2)
		p.mem.Set(out, "text", value.NewString([]byte("<prompt_embeds>")))
		return out, partMedium
	}
	out := p.typed(modality, 1+item.Len())
	p.extras(out, item)
	return out, partMedium
}

func (p *projection) typed(kind string, capacity int) value.Value {
	out := p.mem.NewDict(capacity)
	p.mem.Set(out, "type", value.NewString([]byte(kind)))
	return out
}

// extras copies the fields of a part that vLLM knows nothing about.
func (p *projection) extras(out, item value.Value) {
	for i := range item.Len() {
		if key, v := item.Entry(i); !knownPartField(key) {
			p.mem.SetValue(out, item.EntryKey(i), v)
		}
	}
}

// hasMedia reports whether messages hold anything but text, as vLLM's
// has_non_text_content does.
func hasMedia(messages value.Value) bool {
	for _, m := range messages.Items() {
		if slices.ContainsFunc(m.Get("content").Items(), isMedium) {
			return true
		}
	}
	return false
}

func isMedium(part value.Value) bool {
	if part.Kind() != value.Dict {
		return false
	}
	if part.Has("input_image") || slices.ContainsFunc(mediaKeys(), part.Has) {
		return true
	}
	switch kind := part.Get("type"); {
	case kind.Kind() == value.Undefined:
		return false
	case kind.Kind() != value.String:
		return true
	default:
		switch string(kind.Bytes()) {
		case "text", "input_text", "output_text", "refusal", "thinking", "tool_reference":
			return false
		}
		return true
	}
}
