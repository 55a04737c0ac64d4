package chattemplate

import (
	"strings"
	"time"

	"penstock/routing/chattemplate/value"
)

// probe finds out what vLLM's Anthropic API finds out by trying the template.
func (r *Renderer) probe() {
	r.mergeSystem = r.wantsSystemFirst()
	if r.disabledEffort = r.profile.DisabledThinkingEffort; r.disabledEffort == "" {
		r.disabledEffort = r.probeEffort()
	}
}

// wantsSystemFirst reports whether a template refuses system messages between turns:
// _should_merge_inline_system of vLLM. Without a template it is taken to.
func (r *Renderer) wantsSystemFirst() bool {
	if r.encoder != encodeTemplate && r.encoder != encodeHarmony {
		return true
	}
	return r.refusesLateSystem(r.templates.choose(false)) || r.refusesLateSystem(r.templates.choose(true))
}

// refusesLateSystem renders in an environment that has neither our functions nor the
// generation tag, and knows nothing of tools.
func (r *Renderer) refusesLateSystem(t *template) bool {
	if t == nil || t.err != nil || t.generation {
		return true
	}
	w := r.NewWorker()
	messages := w.mem.NewList(4)
	for _, role := range [...]string{"system", "user", "system", "user"} {
		w.mem.Add(messages, w.message(role, value.NewString([]byte("t"))))
	}
	vars := w.mem.NewDict(4)
	w.mem.Set(vars, "add_generation_prompt", value.NewBool(false))
	for _, name := range [...]string{"strftime_now", "raise_exception"} {
		w.mem.Set(vars, name, value.Value{})
	}
	_, reason := w.execute(nil, t, vars, messages)
	return reason != ""
}

// probeEffort is the effort that stands for no thinking: none, unless the renderer
// refuses or ignores it.
func (r *Renderer) probeEffort() string {
	none, ok := r.probePrompt("none")
	if !ok {
		return "low"
	}
	for _, effort := range [...]string{"low", "medium", "high", "xhigh", "max"} {
		if prompt, ok := r.probePrompt(effort); ok && prompt == none {
			return "low"
		}
	}
	return "none"
}

func (r *Renderer) probePrompt(effort string) (text string, ok bool) {
	w := r.NewWorker()
	p := w.Render(&Request{
		Kind: KindChat,
		Body: []byte(`{"messages":[{"role":"user","content":"Hi"}],"reasoning_effort":"` + effort + `"}`),
		Now:  time.Unix(0, 0),
	})
	if p.Status != Exact {
		return "", false
	}
	var b strings.Builder
	for _, part := range p.Parts {
		b.Write(part.Text)
	}
	return b.String(), true
}
