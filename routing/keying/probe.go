package keying

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"penstock/configs"
	"penstock/pools"
	"penstock/routing/chattemplate"
)

// sample is one request that the gateway and the engine both make the tokens of.
type sample struct {
	name string
	kind chattemplate.Kind
	body string
}

// samples are chosen for what has gone wrong elsewhere: special tokens before text,
// classes of new characters, runs of whitespace, the order and form of tools, tool
// calls of earlier turns, and switches of templates.
var samples = []sample{
	{"text", chattemplate.KindCompletions, `{"prompt":"A penstock carries water from the gate to the turbines; it's 3.1415 m wide."}`},
	{"emoji", chattemplate.KindCompletions, `{"prompt":"Water \ud83d\udca7 waves \ud83c\udf0a, a family \ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67, \u6c34\u95e8\u304c\u958b\u304f, \u0432\u043e\u0434\u0430, e\u0301 \u1e9b\u0323 \ud83e\udee8"}`},
	{"whitespace", chattemplate.KindCompletions, `{"prompt":"def f(x):\n\n\n    if x:\n\t\treturn 1` + strings.Repeat(" ", 130) + `end\r\n\r\n   \u00a0\u3000 \t \n"}`},
	{"digits", chattemplate.KindCompletions, `{"prompt":"1234567890 12,345.67 0x1F \u0661\u0662\u0663 \u2163 \u00bd I'LL we've 'S \u017f"}`},
	{"chat", chattemplate.KindChat, `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Which way does the water go?"}]}`},
	{"turns", chattemplate.KindChat, `{"messages":[{"role":"user","content":"One.\n\nTwo  three"},{"role":"assistant","content":" Four. "},{"role":"user","content":"\u6c34 \ud83d\udca7 <b>\"quoted\"</b> & more"}]}`},
	{"tools", chattemplate.KindChat, `{"messages":[{"role":"user","content":"How full is the basin?"}],"tools":[` + basinTool + `]}`},
	{"tool calls", chattemplate.KindChat, `{"messages":[{"role":"user","content":"How full is the basin?"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call00001","type":"function","function":{"name":"basin_level","arguments":"{\"basin\": \"upper\", \"unit\": \"m\", \"depth\": 1.0}"}}]},` +
		`{"role":"tool","tool_call_id":"call00001","content":"{\"level\": 12.50}"},{"role":"user","content":"And the lower one?"}],"tools":[` + basinTool + `]}`},
	{"parts", chattemplate.KindChat, `{"messages":[{"role":"user","content":[{"type":"text","text":"First part."},{"type":"text","text":"Second part."}]}]}`},
}

const basinTool = `{"type":"function","function":{"name":"basin_level","description":"The level of a basin, in <unit> & \"now\".",` +
	`"parameters":{"type":"object","required":["basin"],"properties":{"unit":{"type":"string","enum":["m","ft"]},` +
	`"basin":{"type":"string","description":"upper or lower"},"depth":{"type":"number","default":1.0}}}}}`

// finding is what a probe has found out.
type finding struct {
	differs  string // "" nothing
	chats    bool   // there were chats to compare
	rendered bool   // the engine rendered one of them itself
}

// probing is the comparison with one replica under way.
type probing struct {
	source  *Source
	replica pools.Replica
	kind    configs.Engine
	chats   chatRoutes
	missing map[string]bool // routes that it does not have
}

// probe asks a replica for the tokens of all samples; the error is why it could not be
// told. Samples that either side does not take are passed over, unless none is left.
func (s *Source) probe(ctx context.Context, r pools.Replica, kind configs.Engine, l *loaded) (found finding, err error) {
	with := probing{source: s, replica: r, kind: kind, chats: l.chats(s.set.Config().Models), missing: map[string]bool{}}
	render := l.templates.worker(nil)
	compared := 0
	for i := range samples {
		one := &samples[i]
		q := Request{Kind: one.kind, Body: []byte(one.body)}
		p := render.Render(&chattemplate.Request{Kind: q.Kind, Body: q.Body, Now: s.now()})
		if p.Status != chattemplate.Exact {
			continue
		}
		ours, err := l.vocabulary.ids(p)
		if err != nil {
			return found, fmt.Errorf("cannot tokenize the sample %q: %w", one.name, err)
		}
		found.chats = found.chats || q.Kind == chattemplate.KindChat
		theirs, rendered, err := with.ids(ctx, &q, p)
		switch {
		case errors.Is(err, errNotAsked), errors.Is(err, errRefused), errors.Is(err, errNoTokens):
			continue
		case err != nil:
			return found, err
		}
		compared++
		found.rendered = found.rendered || rendered
		if slices.Equal(ours, theirs) {
			s.metrics.compared(withParity, equal)
			continue
		}
		s.metrics.compared(withParity, different)
		found.differs = describe(one.name, ours, theirs)
		return found, nil
	}
	if compared == 0 {
		return found, errNotAsked
	}
	return found, nil
}

// ids are the engine's: of the request where the engine renders it, so that the
// template is compared too, else of our own rendering.
func (p *probing) ids(ctx context.Context, q *Request, prompt *chattemplate.Prompt) (ids []uint32, rendered bool, err error) {
	questions := questionsOf(q, prompt, p.chats, true)
	for i := range questions {
		one := &questions[i]
		if !one.understoodBy(p.kind) || p.missing[one.path] {
			continue
		}
		s := p.source
		ids, err := s.asker.put(ctx, p.replica, s.set.Config().Secret, one)
		if !errors.Is(err, errMissing) {
			return ids, q.Kind == chattemplate.KindChat && one.only != "", err
		}
		p.missing[one.path] = true
	}
	return nil, false, errNotAsked
}

// describe says where two lists of ids part.
func describe(sample string, ours, theirs []uint32) string {
	at := 0
	for at < len(ours) && at < len(theirs) && ours[at] == theirs[at] {
		at++
	}
	show := func(ids []uint32) string {
		if at == len(ids) {
			return "the end"
		}
		return fmt.Sprint(ids[at])
	}
	return fmt.Sprintf("sample %q: token %d is %s there and %s here (%d and %d tokens)",
		sample, at, show(theirs), show(ours), len(theirs), len(ours))
}
