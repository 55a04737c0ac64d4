package keying

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"penstock/configs"
	"penstock/pools"
	"penstock/routing/keys"
)

// engineFacts is what prompts depend on besides the pool's settings.
type engineFacts struct {
	kind    configs.Engine
	version string
}

// run does for one pool what takes time: reading files, comparing with engines, and
// asking them.
func (s *Source) run(ctx context.Context) {
	changed, stop := s.set.Watch()
	defer stop()
	var wg sync.WaitGroup
	defer s.asker.use(nil) // after the goroutines that use it: deferred calls run last to first
	defer wg.Wait()
	asking := false
	for {
		s.connect()
		cfg := s.load()
		if cfg.RemoteKeys() && !asking {
			asking = true
			for range askers {
				wg.Go(func() { s.answer(ctx) })
			}
		}
		timer := time.NewTimer(s.compare(ctx))
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// connect makes the client that engines are asked with, anew when the pool's tls
// settings were read again: the files may have changed under the same names.
func (s *Source) connect() {
	s.mu.Lock()
	settings, stale := s.tls, s.redial
	s.redial = false
	s.mu.Unlock()
	if !stale {
		return
	}
	secure, err := pools.ClientTLS(settings)
	if err != nil {
		// The data plane has read the same files a moment ago and would have refused
		// the configuration.
		s.log.Error("engines are asked without the pool's tls settings", slog.String("pool", s.set.Name()), slog.Any("error", err))
	}
	s.asker.use(s.dial(secure))
}

// load makes what the settings ask for and is not there yet, and puts it to work.
func (s *Source) load() configs.Tokenizer {
	s.mu.Lock()
	cfg, old := s.cfg, s.loaded
	s.mu.Unlock()
	if !cfg.Keys() {
		if old.stock == nil {
			return cfg
		}
		s.install(loaded{generation: old.generation + 1})
		return cfg
	}
	facts := s.engineFacts(&cfg, old.engine)
	next := loaded{cfg: cfg, engine: facts, generation: old.generation, vocabulary: old.vocabulary, index: old.index, templates: old.templates, refused: old.refused, template: old.template, stock: old.stock}
	fresh := old.stock == nil
	if fresh || !cfg.SameModel(&old.cfg) || old.refused != "" && cfg != old.cfg {
		next.readVocabulary(s)
	}
	if next.vocabulary != old.vocabulary || cfg.BlockSize != old.cfg.BlockSize || cfg.Memo != old.cfg.Memo {
		next.makeIndex(s)
	}
	if fresh || next.vocabulary != old.vocabulary || facts != old.engine || !sameRendering(cfg, old.cfg) {
		next.makeTemplates(s)
	}
	if fresh || next.index != old.index || next.templates != old.templates {
		next.stock = newStock(next.templates, next.index, s.now, s.remote.after)
		next.generation++
	}
	if next.generation != old.generation || cfg != old.cfg {
		s.install(next)
	}
	return cfg
}

// install puts what was loaded to work. What comparisons have shown about something
// else is forgotten.
func (s *Source) install(l loaded) {
	s.mu.Lock()
	if l.generation != s.loaded.generation {
		s.verdict = verdict{state: s.verdict.state}
		clear(s.checks)
		s.probation, s.chances = time.Time{}, 0
		s.live.reset()
		s.distant.reset()
		s.remote.renew()
	}
	if s.cfg.Parity == configs.ParityOff {
		s.verdict.parity = ParityOff
	}
	s.loaded = l
	n := s.publish()
	s.mu.Unlock()
	s.tell(n)
}

// sameRendering reports whether renderers made under one setting serve the other.
func sameRendering(a, b configs.Tokenizer) bool {
	for _, c := range [...]*configs.Tokenizer{&a, &b} {
		c.BlockSize, c.Memo, c.MaxPrompt, c.Budget, c.Text, c.Remote = 0, 0, 0, 0, "", ""
		c.RemoteTimeout, c.RemoteCache, c.Parity, c.ParityTolerance = 0, 0, "", 0
	}
	return a == b
}

func (l *loaded) refuse(err error) {
	l.refused, l.vocabulary, l.index = err.Error(), nil, nil
}

func (l *loaded) readVocabulary(s *Source) {
	l.vocabulary, l.index, l.refused = nil, nil, ""
	if l.cfg.Path == "" {
		return
	}
	err := s.guarded(func() (err error) {
		l.vocabulary, err = s.files.vocabulary(l.cfg.Path, l.cfg.Unicode)
		return err
	})
	if err != nil {
		l.refuse(err)
	}
}

func (l *loaded) makeIndex(s *Source) {
	l.index = nil
	if l.vocabulary == nil {
		return
	}
	var err error
	l.index, err = l.vocabulary.index(keys.Options{BlockSize: l.cfg.BlockSize, MemoBytes: int64(l.cfg.Memo), Secret: s.secret})
	if err != nil {
		l.refuse(err)
	}
}

// makeTemplates makes the renderer. A pool without a tokenizer has one too: it tells
// apart what is not text, and prompts that are ids already need no more.
func (l *loaded) makeTemplates(s *Source) {
	l.templates, l.template = nil, ""
	err := s.guarded(func() error {
		sources, template, err := s.files.sources(l.cfg.Path, l.cfg.ChatTemplate)
		if err != nil {
			return err
		}
		l.templates, err = s.files.templates(sources, Profile(&l.cfg, l.engine.kind, l.engine.version, template))
		return err
	})
	if err != nil {
		l.refuse(err)
		return
	}
	if l.templates.chats != nil {
		l.template = l.templates.chats.Error()
	}
}

// engineFacts are the kind and version of the pool's engines, as far as they are
// known. The version is what the settings say, or what comparing has learnt.
func (s *Source) engineFacts(cfg *configs.Tokenizer, old engineFacts) engineFacts {
	out := engineFacts{kind: s.set.Config().Engine, version: cfg.EngineVersion}
	if out.version == "" {
		out.version = s.learnt
	}
	if out.kind != configs.EngineAuto && out.kind != "" {
		return out
	}
	out.kind = old.kind
	v := s.set.View()
	for i := range v.Members {
		if k := s.set.Engine(v.Members[i].ID); k != configs.EngineAuto && k != "" {
			out.kind = k
			return out
		}
	}
	return out
}
