package chattemplate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func newStopWorker(t *testing.T, template string) *Worker {
	t.Helper()
	r, err := New(Sources{ChatTemplate: []byte(template)}, Profile{})
	if err != nil {
		t.Fatal(err)
	}
	return r.NewWorker()
}

const stopTemplate = `{% for m in messages %}{% for n in messages %}{% if n.role == m.role %}{{ '' }}{% endif %}{% endfor %}{{ m.content }}{% endfor %}`

func manyMessages(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"messages":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":"user","content":"message %d"}`, i)
	}
	b.WriteString("]}")
	return b.Bytes()
}

func TestRenderEndsWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	w := newStopWorker(t, stopTemplate)
	body := manyMessages(300)
	whole := string(w.Render(&Request{Kind: KindChat, Body: body}).Parts[0].Text)
	// Stopped at every check in turn, wherever that is, the worker is as good as new.
	for stopAt := 1; ; stopAt++ {
		asked := 0
		w.Expired = func() bool { asked++; return asked == stopAt }
		p := w.Render(&Request{Kind: KindChat, Body: body})
		if p.Status == Exact {
			if stopAt < 10 {
				t.Errorf("it was asked %d times only", stopAt-1)
			}
			break
		}
		if p.Status != Unknown || p.Reason != ReasonBudget || len(p.Parts) != 0 {
			t.Fatalf("stopped at check %d: %s, %s", stopAt, p.Status, p.Reason)
		}
		w.Expired = nil
		if got := w.Render(&Request{Kind: KindChat, Body: body}); got.Status != Exact || string(got.Parts[0].Text) != whole {
			t.Fatalf("after a stop at check %d the prompt is another", stopAt)
		}
	}
}

func TestRenderEndsWhenItsMemoryIsUp(t *testing.T) {
	t.Parallel()
	w := newStopWorker(t, "{{ messages | tojson }}{{ tools | tojson }}")
	w.MaxMemory = 1 << 20
	f := func(name, body string, want Reason) {
		t.Helper()
		if p := w.Render(&Request{Kind: KindChat, Body: []byte(body)}); p.Reason != want {
			t.Errorf("%s: %s (%q), want %q", name, p.Status, p.Reason, want)
		}
	}
	f("few", `{"messages":[{"role":"user","content":"a"}]}`, "")
	f("a list of numbers", `{"messages":[{"role":"user","content":"a"}],"x":[`+strings.Repeat("0,", 100_000)+`0]}`, ReasonLimit)
	f("many objects", `{"messages":[{"role":"user","content":"a"}],"x":[`+strings.Repeat("{},", 50_000)+`0]}`, ReasonLimit)
	f("many messages", string(manyMessages(20_000)), ReasonLimit)
	f("few again", `{"messages":[{"role":"user","content":"a"}]}`, "")
}
