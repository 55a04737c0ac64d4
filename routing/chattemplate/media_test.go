package chattemplate

import (
	"testing"
	"time"
)

// TestPromptsEndBeforeTheFirstMedium wants what is before an image, and no placeholder.
func TestPromptsEndBeforeTheFirstMedium(t *testing.T) {
	t.Parallel()
	const image = `{"type":"image_url","image_url":{"url":"u"}}`
	const inOrder = `{% for message in messages %}<{{ message.role }}>{% if message.content is string %}{{ message.content }}{% else %}` +
		`{% for c in message.content %}{% if c.type == 'text' %}{{ c.text }}{% else %}<{{ c.type }}>{% endif %}{% endfor %}{% endif %}{% endfor %}`
	const imagesFirst = `{% for message in messages %}<{{ message.role }}>{% for c in message.content if c.type == 'image' %}<image>{% endfor %}` +
		`{% for c in message.content if c.type == 'text' %}{{ c.text }}{% endfor %}{% endfor %}`
	const lookingAhead = `{% set seen = namespace(images=false) %}{% for message in messages %}{% for c in message.content %}` +
		`{% if c.type == 'image' %}{% set seen.images = true %}{% endif %}{% endfor %}{% endfor %}` +
		`{{ 'with images' if seen.images else 'text only' }}` + inOrder
	const textOnly = `{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}`
	f := func(name, template, messages string, status Status, want string) {
		t.Helper()
		r, err := New(Sources{ChatTemplate: []byte(template)}, Profile{})
		if err != nil {
			t.Fatal(err)
		}
		p := r.NewWorker().Render(&Request{Kind: KindChat, Body: []byte(`{"messages":` + messages + `}`), Now: time.Unix(0, 0)})
		got := ""
		for _, part := range p.Parts {
			got += string(part.Text)
		}
		if p.Status != status || p.Reason != ReasonMultimodal || got != want {
			t.Errorf("%s: got %v %q %q, want %v %q", name, p.Status, p.Reason, got, status, want)
		}
	}
	const system = `{"role":"system","content":"S"},`
	f("an image first", inOrder, `[`+system+`{"role":"user","content":[`+image+`,{"type":"text","text":"a"}]}]`, Approximate, "<system>S<user>")
	f("a text first", inOrder, `[`+system+`{"role":"user","content":[{"type":"text","text":"a"},`+image+`]}]`, Approximate, "<system>S<user>a")
	f("a text that looks like the placeholder", imagesFirst, `[`+system+`{"role":"user","content":[{"type":"text","text":"<image>"},`+image+`]}]`, Approximate, "<system>S<user>")
	f("images before texts", imagesFirst, `[`+system+`{"role":"user","content":[{"type":"text","text":"a"},`+image+`,`+image+`]}]`, Approximate, "<system>S<user>")
	f("an image in a later turn", inOrder, `[{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":[`+image+`]},{"role":"user","content":[`+image+`]}]`, Approximate, "<user>1<assistant>2<user>")
	f("a template that looks ahead", lookingAhead, `[{"role":"user","content":[`+image+`]}]`, Unknown, "")
	f("a placeholder of the engine", textOnly, `[`+system+`{"role":"user","content":[{"type":"text","text":"a"},`+image+`]}]`, Approximate, "<system>S<user>")
	f("audio without a type", inOrder, `[`+system+`{"role":"user","content":[{"audio_url":"u"}]}]`, Approximate, "<system>S<user>")
	f("a developer is moved", textOnly, `[{"role":"developer","content":"D"},{"role":"user","content":[`+image+`]}]`, Unknown, "")
}
