package proxy

import (
	"container/list"
	"sync"
	"time"

	"penstock/pools"
)

// sessions remembers which replica holds a stored response: the state of the
// responses API lives in one engine process (engines.md 1.2). It is bounded in
// number and time.
type sessions struct {
	max int
	ttl time.Duration
	now func() time.Time

	mu    sync.Mutex // guards the fields below
	byID  map[string]*list.Element
	order *list.List // oldest use first
}

type session struct {
	id      string
	pool    string
	replica pools.ReplicaID
	used    time.Time
}

func newSessions(limit int, ttl time.Duration, now func() time.Time) *sessions {
	return &sessions{max: limit, ttl: ttl, now: now, byID: map[string]*list.Element{}, order: list.New()}
}

// put remembers where a response is stored.
func (s *sessions) put(id, pool string, replica pools.ReplicaID) {
	if s.max <= 0 || id == "" || len(id) > maxSessionID {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byID[id]; e != nil {
		*e.Value.(*session) = session{id, pool, replica, s.now()}
		s.order.MoveToBack(e)
		return
	}
	for s.order.Len() >= s.max {
		s.remove(s.order.Front())
	}
	s.byID[id] = s.order.PushBack(&session{id, pool, replica, s.now()})
}

// maxSessionID bounds what an engine can make us remember per response.
const maxSessionID = 128

// get tells where a response is stored and keeps it remembered.
func (s *sessions) get(id string) (pool string, replica pools.ReplicaID, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byID[id]
	if e == nil {
		return "", "", false
	}
	v := e.Value.(*session)
	if s.now().Sub(v.used) > s.ttl {
		s.remove(e)
		return "", "", false
	}
	v.used = s.now()
	s.order.MoveToBack(e)
	return v.pool, v.replica, true
}

// sweep forgets what has not been used for long.
func (s *sessions) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.order.Front(); e != nil && s.now().Sub(e.Value.(*session).used) > s.ttl; e = s.order.Front() {
		s.remove(e)
	}
}

func (s *sessions) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.Len()
}

func (s *sessions) remove(e *list.Element) {
	delete(s.byID, e.Value.(*session).id)
	s.order.Remove(e)
}
