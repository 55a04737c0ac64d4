package keying

import (
	"crypto/tls"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"penstock/configs"
	"penstock/pools"
	"penstock/pools/engine"
)

// Source makes the keys of one pool's prompts. It is safe for concurrent use.
type Source struct {
	set     *pools.Set
	log     *slog.Logger
	now     func() time.Time
	files   files
	secret  []byte // of the memo's tags
	metrics *poolMetrics
	serving atomic.Pointer[serving] // nil: nothing is keyed
	remote  *remote
	live    audit         // our counts against the engines' usage
	distant audit         // counts that engines gave us against their usage
	wake    chan struct{} // something for run to do
	dial    func(*tls.Config) *engine.Client
	asker   *asker

	panicked atomic.Int64 // when a panic was last logged, in Unix nanoseconds

	// Of the goroutine that is in run, and of the one that compares while there is one.
	checks    map[life]*check
	anew      bool      // all comparisons are made once more, because of usage
	probation time.Time // when a tokenizer that the usage spoke against gets another chance; zero: not set

	mu       sync.Mutex // guards all below
	cfg      configs.Tokenizer
	tls      configs.ClientTLS
	redial   bool      // the client is not made of tls yet
	reloaded bool      // settings were applied, the same ones or others
	retry    time.Time // when files that were refused are read again
	refusals int       // in a row
	learnt   string    // version of the engines, "" unknown
	loaded   loaded
	verdict  verdict
	doubt    doubt
}

// loaded is what was made of the files. run replaces it as a whole.
type loaded struct {
	cfg        configs.Tokenizer // of which it was made
	engine     engineFacts       // for which
	vocabulary *vocabulary
	index      *index
	templates  *templates
	stock      *stock
	refused    string // why the tokenizer cannot be used, "" it can
	template   string // why chats cannot be rendered, "" they can
	generation uint32 // raised by every change of tokens
}

// chats says which routes of the engines can be asked about chats. Without a model's
// files the names that it goes by must do.
func (l *loaded) chats(models []configs.Model) chatRoutes {
	if l.templates == nil {
		return chatRoutes{}
	}
	switch l.templates.encoder {
	case "template", "other": // vLLM's /tokenize has its own encoders too, but for Harmony
	default:
		return chatRoutes{}
	}
	for i := range models {
		name := strings.ToLower(models[i].ID)
		if l.cfg.Path == "" && (strings.Contains(name, "gpt-oss") || strings.Contains(name, "gpt_oss")) {
			return chatRoutes{}
		}
	}
	return chatRoutes{tokenize: true}
}

// verdict is what comparisons have shown.
type verdict struct {
	state   State
	parity  Parity
	detail  string // of the last comparison that failed
	usage   bool   // the engines' usage differs too often
	checked time.Time
}

// Key makes the keys of a prompt in r. It never fails: r says what it found. A pool
// that keys nothing leaves r empty.
func (s *Source) Key(q *Request, r *Result) {
	r.Reset()
	v := s.serving.Load()
	if v == nil {
		return
	}
	defer s.guardKey(r)
	begin := s.now()
	deadline := begin.Add(v.budget())
	r.generation, r.caller = v.generation, callerOf(q.Caller)
	if j := s.work(v, q, r, deadline); j != nil {
		s.remote.wait(j, v, deadline, r)
	}
	if len(r.Blocks) == 0 && r.Origin.Counted() {
		r.short = xxhash.Sum64(q.Body)
	}
	s.metrics.keyed(r, s.now().Sub(begin))
}

// work keys a prompt with one of the pool's workers. It returns the question to wait
// for when an engine's answer may still replace the keys.
func (s *Source) work(v *serving, q *Request, r *Result, deadline time.Time) *job {
	if limit := v.cfg.MaxPrompt; limit > 0 && len(q.Body) > int(limit) {
		r.Reason = ReasonTooLarge
		return nil
	}
	if !v.stock.enter(len(q.Body), deadline) {
		r.Reason = ReasonBudget
		return nil
	}
	defer v.stock.leave(len(q.Body))
	w := v.stock.get()
	w.deadline = deadline
	j := s.key(v, w, q, r)
	v.stock.put(w) // not after a panic
	return j
}

func (s *Source) key(v *serving, w *worker, q *Request, r *Result) (wait *job) {
	p := v.exactly(w, q, r)
	if r.Origin != OriginNone || r.Reason == ReasonBudget {
		return nil
	}
	if v.cfg.RemoteKeys() && askable[r.Reason] {
		if wait = s.remote.find(v, w, q, p, r); r.Origin != OriginNone {
			return nil
		}
	}
	if v.cfg.TextKeys() {
		v.overText(q, p, r)
	}
	return wait
}

// Active reports whether prompts are keyed at all.
func (s *Source) Active() bool { return s.serving.Load() != nil }

// configure takes over a pool's settings. What serves stays until run has made what
// the settings ask for.
func (s *Source) configure(cfg configs.Tokenizer, secure configs.ClientTLS) {
	s.mu.Lock()
	none := configs.ClientTLS{}
	s.redial = s.redial || secure != none || secure != s.tls
	s.cfg, s.tls, s.reloaded = cfg, secure, true
	news := s.publish()
	s.mu.Unlock()
	s.tell(news)
	s.signal()
}

func (s *Source) wanted() configs.Tokenizer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}

func (s *Source) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// publish makes the serving value of the fields that mu guards, and returns what is
// to be told after mu is free.
func (s *Source) publish() news {
	n := s.settle()
	if !s.cfg.Keys() {
		s.serving.Store(nil)
		return n
	}
	v := &serving{cfg: s.cfg, generation: s.loaded.generation, stock: s.loaded.stock, zone: time.UTC}
	if zone, err := time.LoadLocation(s.cfg.Timezone); err == nil {
		v.zone = zone
	}
	v.chats = s.loaded.chats(s.set.Config().Models)
	if v.stock == nil {
		v.stock = newStock(nil, nil, s.now, s.remote.after)
	} else {
		// Keys over blocks of one size must not be mixed with those of another: the
		// old size serves until the new memo is there.
		v.cfg.BlockSize = s.loaded.cfg.BlockSize
	}
	v.exact, v.why = s.believed()
	s.serving.Store(v)
	s.remote.resize(int64(s.cfg.RemoteCache))
	return n
}

// believed says whether exact keys are given out, and why not. mu is held.
func (s *Source) believed() (exact bool, why Reason) {
	switch {
	case s.cfg.Path == "":
		return false, ReasonAbsent
	case s.loaded.refused != "":
		return false, ReasonRefused
	case s.loaded.index == nil || s.loaded.templates == nil:
		return false, ReasonLoading
	case s.verdict.parity == ParityFailed || s.verdict.usage:
		return false, ReasonDegraded
	case s.cfg.Parity == configs.ParityStrict && s.verdict.parity != ParityPassed && s.verdict.parity != ParityNoChats:
		return false, ReasonUnproven
	}
	return true, ReasonOK
}

// news is a change of state, to be told once.
type news struct {
	changed bool
	state   State
	detail  string
	usage   bool
	loaded  *vocabulary
	// template is why chats cannot be rendered, "" they can.
	template string
}

// stateFor is the state behind a reason not to believe; for all others it is ready.
var stateFor = map[Reason]State{
	ReasonAbsent: StateOff, ReasonLoading: StateLoading, ReasonRefused: StateRefused, ReasonDegraded: StateDegraded,
}

// settle works out the state. mu is held.
func (s *Source) settle() news {
	_, why := s.believed()
	state, other := stateFor[why]
	if !other {
		state = StateReady
	}
	if state == s.verdict.state {
		return news{}
	}
	s.verdict.state = state
	n := news{changed: true, state: state, detail: s.verdict.detail, usage: s.verdict.usage, loaded: s.loaded.vocabulary, template: s.loaded.template}
	if state == StateRefused {
		n.detail = s.loaded.refused
	}
	return n
}

// tell logs and counts a change of state. mu is not held.
func (s *Source) tell(n news) {
	if !n.changed {
		return
	}
	pool := slog.String("pool", s.set.Name())
	switch n.state {
	case StateReady:
		i := n.loaded.info
		s.log.Info("tokenizer ready", pool, slog.String("kind", i.Kind), slog.String("family", i.Family),
			slog.Int("vocabulary", i.Vocabulary), slog.Int64("bytes", i.Bytes), slog.String("digest", i.Digest))
		if n.template != "" {
			s.log.Warn("chats of the pool cannot be rendered; they are keyed without the tokenizer", pool, slog.String("reason", n.template))
		}
	case StateRefused:
		s.log.Warn("tokenizer refused; prompts are keyed without it", pool, slog.String("reason", n.detail))
	case StateDegraded:
		s.metrics.mismatch(n.usage)
		s.log.Warn("tokenizer unlike the engines'; prompts are keyed without it", pool,
			slog.Bool("by_usage", n.usage), slog.String("detail", n.detail))
	case StateOff, StateLoading, stateCount:
	}
}

// Status is a source as the admin API shows it.
type Status struct {
	State         State
	Reason        string // why it is not ready, "" it is
	Template      string // why chats cannot be rendered, "" they can
	Parity        Parity
	Detail        string // of the comparison that failed last, "" none
	Checked       time.Time
	Info          Info
	Engine        configs.Engine
	EngineVersion string
	BlockSize     int
	MemoPlaces    int
	MemoBytes     int64
}

// Status describes the source.
func (s *Source) Status() Status {
	s.mu.Lock()
	l, v := s.loaded, s.verdict
	out := Status{
		State: v.state, Template: l.template, Parity: v.parity, Detail: v.detail, Checked: v.checked,
		Engine: l.engine.kind, EngineVersion: l.engine.version, BlockSize: s.cfg.BlockSize,
	}
	if _, why := s.believed(); why != ReasonOK {
		out.Reason = string(why)
	}
	if l.refused != "" {
		out.Detail = l.refused
	}
	s.mu.Unlock()
	if l.vocabulary != nil {
		out.Info = l.vocabulary.info
	}
	if l.index != nil {
		out.MemoPlaces, out.MemoBytes = l.index.memo()
	}
	return out
}
