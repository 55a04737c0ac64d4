package proxy

import (
	"penstock/pools"
	"penstock/proxy/scan"
	"penstock/routing/chattemplate"
	"penstock/routing/keying"
)

// key turns the prompt into block keys, where the pool does that. It never fails a
// request: without keys it is routed by load.
func (x *exchange) key() error {
	source := x.be.keys
	if source == nil || !x.parsed || !x.route.has(flagGenerates) || !source.Active() {
		return nil
	}
	r := &x.scanned
	x.asked = keying.Request{
		Kind: promptKind(x.route.kind), Body: x.body, Salt: r.CacheSalt,
		Tools: r.Value(scan.FieldTools).Of(x.ctx.Request.Body()), Prompt: x.rawPrompt(),
	}
	x.asked.Model, x.asked.Adapter = x.be.base(x.model)
	if x.keyed {
		x.asked.Caller = x.keyID
	}
	source.Key(&x.asked, &x.prompt)
	x.count = x.prompt.Count()
	if x.count.Origin.Counted() {
		x.promptTokens = x.count.Tokens
	}
	return nil
}

// promptKind is the API of a route in the words of the templates.
func promptKind(k scan.Kind) chattemplate.Kind {
	switch k {
	case scan.KindChat:
		return chattemplate.KindChat
	case scan.KindCompletions:
		return chattemplate.KindCompletions
	case scan.KindResponses:
		return chattemplate.KindResponses
	case scan.KindMessages:
		return chattemplate.KindMessages
	case scan.KindGenerate:
		return chattemplate.KindGenerate
	case scan.KindInferenceGenerate:
		return chattemplate.KindTokens
	case scan.KindGeneric, scan.KindEmbeddings, scan.KindRerank, scan.KindScore, scan.KindTokenize:
	}
	return chattemplate.KindNone
}

// rawPrompt is the prompt as the client wrote it, nil when there is none.
func (x *exchange) rawPrompt() []byte {
	for _, f := range promptFields {
		if s := x.scanned.Value(f); s.Present() {
			return s.Of(x.ctx.Request.Body())
		}
	}
	return nil
}

// base tells the model and the adapter of a name that the engine knows. A request
// without one asks for the pool's only model.
func (be *backend) base(name string) (model, adapter string) {
	if base, ok := be.bases[name]; ok {
		return base, name
	}
	if name == "" && len(be.cfg.Models) == 1 {
		return be.cfg.Models[0].ID, ""
	}
	return name, ""
}

// joinKeys gives each backend the source of its pool's keys.
func (s *Server) joinKeys(st *state) {
	if s.keys == nil {
		return
	}
	sets := make([]*pools.Set, 0, len(st.backends))
	for _, be := range st.backends {
		be.keys = s.keys.Source(be.set, &be.cfg)
		sets = append(sets, be.set)
	}
	s.keys.Keep(sets)
}

// compare tells the pool's tokenizer how many tokens the engine says the prompt has.
func (r *record) compare() {
	if !r.count.Origin.Counted() || r.be == nil || r.be.keys == nil || r.outcome != pools.OutcomeOK || r.status != 200 {
		return
	}
	reported := int64(0)
	if r.usage.Known {
		reported = r.usage.Prompt
	}
	r.be.keys.Observe(r.count, reported)
}
