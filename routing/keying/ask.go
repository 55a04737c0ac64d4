package keying

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"penstock/configs"
	"penstock/pools"
	"penstock/pools/engine"
)

// asker puts questions to the engines of one pool.
type asker struct {
	set *pools.Set

	mu      sync.Mutex // guards all below
	client  *engine.Client
	turn    int
	missing map[string]time.Time // path -> when an engine said that it has no such route
}

func newAsker(set *pools.Set) *asker {
	return &asker{set: set, missing: map[string]time.Time{}}
}

// use replaces the client; nil ends asking.
func (a *asker) use(client *engine.Client) {
	a.mu.Lock()
	old := a.client
	a.client = client
	a.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

func (a *asker) engine() *engine.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client
}

// Errors of asking.
var (
	errMissing  = errors.New("keying: the engine has no such route")
	errRefused  = errors.New("keying: the engine refused the question")
	errNobody   = errors.New("keying: no replica can be asked")
	errGuarded  = errors.New("keying: the engine asks for a key")
	errNotAsked = errors.New("keying: the engines have no way to be asked")
)

// missingFor is how long a route that an engine lacked is not asked for again.
const missingFor = time.Minute

// put asks one replica one question.
func (a *asker) put(ctx context.Context, r pools.Replica, secret configs.Secret, q *question) ([]uint32, error) {
	answer, err := a.engine().PostJSON(ctx, r, secret, q.path, q.body)
	switch {
	case errors.Is(err, engine.ErrTooLarge):
		return nil, errRefused
	case err != nil:
		return nil, err
	case answer.OK():
		return tokensIn(answer.Body)
	case lacksRoute(&answer):
		return nil, errMissing
	case answer.Status == 401, answer.Status == 403:
		return nil, errGuarded
	case answer.Status < 500 && answer.Status != 429:
		return nil, errRefused
	}
	return nil, fmt.Errorf("cannot ask the engine: status %d", answer.Status)
}

// lacksRoute tells an engine without the route from one that does not know the
// request's model, which answers 404 too, with an error object.
func lacksRoute(a *engine.Answer) bool {
	switch a.Status {
	case 405, 501:
		return true
	case 404:
		var said struct {
			Error  json.RawMessage `json:"error"`
			Object string          `json:"object"`
		}
		return json.Unmarshal(a.Body, &said) != nil || len(said.Error) == 0 && said.Object != "error"
	}
	return false
}

// any asks some replica, going through the ways to ask until one is answered.
func (a *asker) any(ctx context.Context, questions []question, now time.Time) ([]uint32, error) {
	r, kind, ok := a.pick()
	if !ok {
		return nil, errNobody
	}
	secret := a.set.Config().Secret
	err := errNotAsked
	for i := range questions {
		q := &questions[i]
		if !q.understoodBy(kind) || a.lacks(q.path, now) {
			continue
		}
		var ids []uint32
		if ids, err = a.put(ctx, r, secret, q); err == nil {
			return ids, nil
		}
		if !errors.Is(err, errMissing) {
			return nil, err
		}
		a.note(q.path, now)
		err = errNotAsked
	}
	return nil, err
}

// understoodBy reports whether an engine of a kind can be asked so.
func (q *question) understoodBy(kind configs.Engine) bool {
	switch kind {
	case configs.EngineVLLM, configs.EngineSGLang:
		return q.only == "" || q.only == kind
	case configs.EngineAuto, configs.EngineTRTLLM, configs.EngineOpenAI:
	}
	return false
}

// pick takes the replicas in turn.
func (a *asker) pick() (pools.Replica, configs.Engine, bool) {
	v := a.set.View()
	a.mu.Lock()
	a.turn++
	turn := a.turn
	a.mu.Unlock()
	for i := range v.Members {
		m := &v.Members[(turn+i)%len(v.Members)]
		if s := m.State(); s == pools.StateReady || s == pools.StatePending {
			return m.Replica, a.set.Engine(m.ID), true
		}
	}
	return pools.Replica{}, "", false
}

func (a *asker) lacks(path string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.missing[path]
	return ok && now.Sub(at) < missingFor
}

func (a *asker) note(path string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.missing[path] = now
}

// answer takes jobs until ctx ends. What is left then is settled without an answer.
func (s *Source) answer(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			s.remote.abandon()
			return
		case j := <-s.remote.jobs:
			s.ask(ctx, j)
		}
	}
}

func (s *Source) ask(ctx context.Context, j *job) {
	timeout := s.wanted().RemoteTimeout.D()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ids, err := s.asker.any(ctx, j.questions, s.now())
	switch {
	case err == nil:
		s.metrics.asked(askAnswered)
		s.remote.judge(j.of, true)
	case errors.Is(err, errNotAsked), errors.Is(err, errGuarded):
		s.metrics.asked(askUnsupported)
	case errors.Is(err, errRefused), errors.Is(err, errNoTokens):
		s.metrics.asked(askRefused)
	default:
		s.metrics.asked(askFailed)
		s.remote.judge(j.of, false)
	}
	s.remote.settle(j, ids)
}

// abandon settles what nobody will ask any more.
func (m *remote) abandon() {
	for {
		select {
		case j := <-m.jobs:
			m.settle(j, nil)
		default:
			return
		}
	}
}
