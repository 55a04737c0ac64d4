package enginesim

import (
	"sync"
	"sync/atomic"
	"time"
)

// RequestInfo is what the server knows of one generating request.
type RequestInfo struct {
	ID           string        `json:"id"`         // as in the answer
	RequestID    string        `json:"request_id"` // X-Request-Id of the request
	Path         string        `json:"path"`
	Model        string        `json:"model"`
	Adapter      string        `json:"adapter,omitempty"`
	Salt         string        `json:"salt,omitempty"`
	Rank         int           `json:"rank"`
	Stream       bool          `json:"stream"`
	BodyBytes    int           `json:"body_bytes"`
	BodyXXH64    uint64        `json:"body_xxh64,string"` // of the body as it arrived
	PromptTokens int           `json:"prompt_tokens"`
	CachedTokens int           `json:"cached_tokens"`
	OutputTokens int           `json:"output_tokens"`
	Status       int           `json:"status"`
	Finish       string        `json:"finish"`
	Aborted      bool          `json:"aborted"` // taken out of the engine before its end
	Received     time.Time     `json:"received"`
	Took         time.Duration `json:"took_ns"`
}

// Stats is the state of a server, summed over its ranks.
type Stats struct {
	Running       int           `json:"running"`
	Waiting       int           `json:"waiting"`
	BlocksTotal   int           `json:"blocks_total"`
	BlocksUsed    int           `json:"blocks_used"`
	BlocksCached  int           `json:"blocks_cached"`
	Received      int64         `json:"received"`
	Completed     int64         `json:"completed"` // sequences
	Aborted       int64         `json:"aborted"`   // sequences
	Preemptions   int64         `json:"preemptions"`
	PrefixQueries int64         `json:"prefix_query_tokens"`
	PrefixHits    int64         `json:"prefix_hit_tokens"`
	OutputTokens  int64         `json:"output_tokens"`
	Requests      []RequestInfo `json:"requests"` // the last ones to end, oldest first
}

// Stats returns the present state.
func (s *Server) Stats() Stats {
	var st Stats
	for _, r := range s.ranks {
		c := r.snapshot()
		st.Running += c.Running
		st.Waiting += c.Waiting
		st.BlocksTotal += c.BlocksTotal
		st.BlocksUsed += c.BlocksUsed
		st.BlocksCached += c.BlocksCached
		st.Completed += c.Completed
		st.Aborted += c.Aborted
		st.Preemptions += c.Preemptions
		st.PrefixQueries += c.PrefixQueries
		st.PrefixHits += c.PrefixHits
		st.OutputTokens += c.OutputTokens
	}
	st.Received, st.Requests = s.log.read()
	return st
}

// requestLog remembers open requests and the last ones that ended.
type requestLog struct {
	limit int

	mu       sync.Mutex // guards what follows
	open     map[*exchange]struct{}
	tail     []RequestInfo
	received int64
}

func (l *requestLog) begin(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(map[*exchange]struct{})
	}
	l.open[x] = struct{}{}
	l.received++
}

func (l *requestLog) end(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, x)
	if l.limit == 0 {
		return
	}
	if len(l.tail) >= l.limit {
		copy(l.tail, l.tail[1:])
		l.tail = l.tail[:len(l.tail)-1]
	}
	l.tail = append(l.tail, x.info)
}

func (l *requestLog) read() (int64, []RequestInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.received, append([]RequestInfo{}, l.tail...)
}

func (l *requestLog) eachOpen(fn func(x *exchange)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for x := range l.open {
		fn(x)
	}
}

// hooks are called on the goroutine of the request, and must not block.
type hooks struct {
	request, abort, done atomic.Pointer[func(RequestInfo)]
}

// OnRequest calls fn when a generating request has entered the engine's queue.
func (s *Server) OnRequest(fn func(RequestInfo)) { s.hooks.request.Store(&fn) }

// OnAbort calls fn when a request has left the engine before its end, its
// blocks freed.
func (s *Server) OnAbort(fn func(RequestInfo)) { s.hooks.abort.Store(&fn) }

// OnDone calls fn when a generating request is over, aborted or not.
func (s *Server) OnDone(fn func(RequestInfo)) { s.hooks.done.Store(&fn) }

func call(p *atomic.Pointer[func(RequestInfo)], info RequestInfo) {
	if fn := p.Load(); fn != nil && *fn != nil {
		(*fn)(info)
	}
}

// rename moves an open request to another exchange.
func (l *requestLog) rename(from, to *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, from)
	l.open[to] = struct{}{}
}
