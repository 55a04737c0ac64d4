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
	for ctx.Err() == nil {
		s.connect()
		if cfg := s.wanted(); cfg.RemoteKeys() && !asking {
			asking = true // before files are read, which may take long
			for range askers {
				wg.Go(func() { s.answer(ctx) })
			}
		}
		s.load()
		s.watch(ctx, changed)
	}
}

// watch compares with the engines beside whatever else there is to do, until there is
// something to load or to compare again. A comparison under way then is cancelled.
func (s *Source) watch(ctx context.Context, changed <-chan struct{}) {
	pass, cancel := context.WithCancel(ctx)
	done := make(chan time.Duration, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { done <- s.compare(pass) })
	retry := time.NewTimer(s.untilRetry())
	defer retry.Stop()
	again := time.NewTimer(quiet)
	defer again.Stop()
	var due <-chan time.Time // of again; nil while comparing
	dirty := false           // the pool has changed meanwhile
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			return
		case <-changed:
			if due != nil || s.stale() {
				return
			}
			dirty = true
		case next := <-done:
			if dirty {
				return
			}
			again.Reset(next)
			due = again.C
		case <-due:
			return
		case <-retry.C:
			return
		}
	}
}

// stale reports whether prompts are made for another kind of engine than the pool has.
func (s *Source) stale() bool {
	s.mu.Lock()
	cfg, old, learnt := s.cfg, s.loaded.engine, s.learnt
	s.mu.Unlock()
	return cfg.Keys() && s.engineFacts(&cfg, old, learnt) != old
}

// Files that were refused are read again: they may still be on their way to the disk.
const (
	firstRetry  = 10 * time.Second
	lastRetries = 5 * time.Minute
)

// untilRetry is the time until then.
func (s *Source) untilRetry() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded.refused == "" {
		return quiet
	}
	return max(s.retry.Sub(s.now()), time.Millisecond)
}

// mayRetry reports whether it has come: with time, or with any reload.
func (s *Source) mayRetry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	reloaded := s.reloaded
	s.reloaded = false
	return s.loaded.refused != "" && (reloaded || !s.now().Before(s.retry))
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
func (s *Source) load() {
	retry := s.mayRetry()
	s.mu.Lock()
	cfg, old, learnt := s.cfg, s.loaded, s.learnt
	s.mu.Unlock()
	if !cfg.Keys() {
		if old.stock != nil {
			s.install(loaded{generation: old.generation + 1})
		}
		return
	}
	facts := s.engineFacts(&cfg, old.engine, learnt)
	next := old
	next.cfg, next.engine = cfg, facts
	fresh := old.stock == nil
	if fresh || retry || !cfg.SameModel(&old.cfg) || old.refused != "" && cfg != old.cfg {
		next.readVocabulary(s)
	}
	if next.vocabulary != old.vocabulary || cfg.BlockSize != old.cfg.BlockSize || cfg.Memo != old.cfg.Memo {
		next.makeIndex(s)
	}
	if fresh || retry || next.vocabulary != old.vocabulary || facts != old.engine || !sameRendering(cfg, old.cfg) {
		next.makeTemplates(s)
	}
	if retry && next.refused != "" && next.index == old.index && old.templates != nil {
		next.templates, next.template = old.templates, old.template // nothing has come of it
	}
	if fresh || next.index != old.index || next.templates != old.templates {
		next.stock = newStock(next.templates, next.index, s.now, s.remote.after)
		next.generation++
	}
	if next.generation != old.generation || next.refused != old.refused || retry || cfg != old.cfg {
		s.install(next)
	}
}

// install puts what was loaded to work. What comparisons have shown about something
// else is forgotten.
func (s *Source) install(l loaded) {
	s.mu.Lock()
	if l.generation != s.loaded.generation {
		s.verdict = verdict{state: s.verdict.state}
		clear(s.checks)
		s.anew, s.probation, s.doubt = false, time.Time{}, doubt{}
		s.live.reset()
		s.distant.reset()
		s.remote.renew()
	}
	if s.cfg.Parity == configs.ParityOff {
		s.verdict.parity = ParityOff
	}
	if l.refused == "" {
		s.refusals = 0
	} else {
		s.retry = s.now().Add(min(firstRetry<<min(s.refusals, 10), lastRetries))
		s.refusals++
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
func (s *Source) engineFacts(cfg *configs.Tokenizer, old engineFacts, learnt string) engineFacts {
	out := engineFacts{kind: s.set.Config().Engine, version: cfg.EngineVersion}
	if out.version == "" {
		out.version = learnt
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
