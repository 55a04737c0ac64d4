package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"penstock/pools"
	"penstock/proxy/upstream"
)

// modelList is the merged answer to GET /v1/models. It is kept for a while, and
// for longer when no engine answers: a list that is a little old is worth more
// to a client than an error (routers.md complaint 39).
type modelList struct {
	mu      sync.Mutex // guards the fields below; held while asking, so one asks for all
	entries []modelEntry
	at      time.Time
}

// modelEntry is one model as an engine describes it.
type modelEntry struct {
	id  string
	raw json.RawMessage
}

// modelsTimeout bounds one engine's answer to GET /v1/models.
const modelsTimeout = 3 * time.Second

// maxModelsBody bounds it in size.
const maxModelsBody = 1 << 20

// needsMerge reports whether the gateway must make its own list: with one pool
// and no names of our own, the engine's answer is passed on as it is.
func (st *state) needsMerge() bool {
	if len(st.backends) != 1 {
		return true
	}
	for _, m := range st.backends[0].cfg.Models {
		if len(m.Aliases) > 0 {
			return true
		}
	}
	return st.keys.Required()
}

// keep remembers a list that an engine answered and that was passed on.
func (l *modelList) keep(body []byte, now time.Time) {
	entries, err := parseModels(body)
	if err != nil || len(entries) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.at = entries, now
}

// ownCredentials reports whether the client's own key goes to the engine, whose
// answer is then about that client alone.
func (x *exchange) ownCredentials() bool {
	h := &x.ctx.Request.Header
	return !x.st.keys.Required() && (len(h.Peek("Authorization")) > 0 || len(h.Peek("X-Api-Key")) > 0)
}

// old returns whatever list is remembered.
func (l *modelList) old() []modelEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries
}

// staleModels answers from the remembered list when no engine could be asked.
func (x *exchange) staleModels() bool {
	if x.route.name != routeModels || x.ownCredentials() || x.call.Cancelled() {
		return false
	}
	entries := x.st.models.old()
	if len(entries) == 0 {
		return false
	}
	x.writeModels(entries)
	return true
}

// answerModels answers GET /v1/models from the merged list.
func (x *exchange) answerModels() error {
	entries, err := x.st.models.get(x)
	if err != nil {
		return err
	}
	x.writeModels(entries)
	return nil
}

func (x *exchange) writeModels(entries []modelEntry) {
	b := []byte(`{"object":"list","data":[`)
	n := 0
	for _, e := range entries {
		if x.keyed && !x.principal.AllowsModel(e.id) {
			continue
		}
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, e.raw...)
		n++
	}
	b = append(b, `]}`...)
	x.status = 200
	x.bytesOut = int64(len(b))
	r := &x.ctx.Response
	r.SetStatusCode(200)
	r.Header.SetContentType("application/json")
	x.ownFields(&r.Header)
	r.SetBodyRaw(b)
}

// get returns the list, fresh or, when nothing better can be had, old.
func (l *modelList) get(x *exchange) ([]modelEntry, error) {
	now := x.server.now()
	ttl := x.st.cfg.Limits.ModelsCacheTTL.D()
	// A client's own key may see more or less than another's.
	private := x.ownCredentials()
	if private {
		return x.st.askModels(x)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries != nil && now.Sub(l.at) < ttl {
		return l.entries, nil
	}
	entries, err := x.st.askModels(x)
	if err != nil {
		if l.entries != nil {
			return l.entries, nil
		}
		return nil, err
	}
	l.entries, l.at = entries, now
	return entries, nil
}

// askModels asks one replica of each pool, in parallel.
func (st *state) askModels(x *exchange) ([]modelEntry, error) {
	lists := make([][]modelEntry, len(st.backends))
	errs := make([]error, len(st.backends))
	var wg sync.WaitGroup
	for i, be := range st.backends {
		ask := modelsQuestion{st: st, requestID: x.requestID, now: x.server.now}
		x.ctx.Request.Header.CopyTo(&ask.header) // even reading one is not safe in parallel
		ask.header.SetMethod(fasthttp.MethodGet) // also for a HEAD
		wg.Go(func() { lists[i], errs[i] = be.askModels(&ask) })
	}
	wg.Wait()
	var all []modelEntry
	seen := map[string]bool{}
	for _, list := range lists {
		for _, e := range list {
			if !seen[e.id] {
				seen[e.id] = true
				all = append(all, e)
			}
		}
	}
	if len(all) > 0 {
		return all, nil // from those that answered
	}
	return nil, errors.Join(errs...)
}

// modelsQuestion is the client's request for the list, on its way to one pool.
type modelsQuestion struct {
	st        *state
	header    fasthttp.RequestHeader
	requestID string
	now       func() time.Time
}

func (be *backend) askModels(q *modelsQuestion) ([]modelEntry, error) {
	view := be.set.View()
	err := error(&Error{Status: 503, Code: codeNoReplica, Public: "no replica is available", RetryAfter: 1})
	tries := 0
	for i := range view.Members {
		if !view.Members[i].Eligible("") && !view.Panic {
			continue
		}
		if tries++; tries > 3 {
			break
		}
		var list []modelEntry
		if list, err = be.askReplica(q, view, i); err == nil {
			return be.withAliases(list), nil
		}
	}
	return nil, err
}

func (be *backend) askReplica(q *modelsQuestion, view *pools.View, i int) ([]modelEntry, error) {
	target, err := be.targets.at(view, i)
	if err != nil {
		return nil, err
	}
	out := outbound{
		host: target.Host(), basePath: target.BasePath(), requestID: q.requestID,
		contentLength: -1, rank: -1, authorization: be.secret,
	}
	if !q.st.keys.Required() {
		if a := q.header.Peek("Authorization"); len(a) > 0 {
			out.authorization = a
		}
	}
	var call upstream.Call
	call.Head = appendHead(nil, &q.header, &out, q.st.allow)
	call.FirstByte = q.now().Add(modelsTimeout)
	defer call.Finish()
	if err := target.Send(&call); err != nil {
		return nil, err
	}
	var body []byte
	for !call.BodyComplete() {
		p, err := call.Next()
		body = append(body, p...)
		if len(body) > maxModelsBody {
			return nil, errors.New("cannot read model list: too large")
		}
		if err != nil && !call.BodyComplete() {
			return nil, err
		}
	}
	if call.Response.Status != 200 {
		return nil, fmt.Errorf("cannot read model list: status %d", call.Response.Status)
	}
	return parseModels(body)
}

// parseModels copies what it returns out of body.
func parseModels(body []byte) ([]modelEntry, error) {
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("cannot read model list: %w", err)
	}
	entries := make([]modelEntry, 0, len(list.Data))
	for _, raw := range list.Data {
		var m struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(raw, &m); err != nil || m.ID == "" {
			continue
		}
		entries = append(entries, modelEntry{m.ID, raw})
	}
	return entries, nil
}

// withAliases adds an entry for each alias: the model's own with another id.
func (be *backend) withAliases(list []modelEntry) []modelEntry {
	byID := map[string]json.RawMessage{}
	for _, e := range list {
		byID[e.id] = e.raw
	}
	for _, m := range be.cfg.Models {
		raw, ok := byID[m.ID]
		if !ok {
			continue
		}
		for _, alias := range m.Aliases {
			var fields map[string]json.RawMessage
			if json.Unmarshal(raw, &fields) != nil {
				continue
			}
			id, _ := json.Marshal(alias)
			fields["id"] = id
			if own, err := json.Marshal(fields); err == nil {
				list = append(list, modelEntry{alias, own})
			}
		}
	}
	return list
}
