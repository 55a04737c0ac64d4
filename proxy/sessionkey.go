package proxy

import (
	"bytes"

	"penstock/proxy/scan"
	"penstock/routing"
)

// sessionHash identifies the conversation or the caller that a sticky policy
// keeps together; 0 when nothing does.
func (x *exchange) sessionHash() uint64 {
	for _, n := range x.be.cfg.PolicyOptions.SessionHeaders {
		if v := x.ctx.Request.Header.Peek(n); len(v) > 0 {
			return routing.HashKey(v)
		}
	}
	if !x.parsed {
		return 0
	}
	r := &x.scanned
	for _, v := range [...][]byte{r.SessionID, r.Conversation, r.PromptCacheKey, r.User} {
		if len(v) > 0 {
			return routing.HashKey(v)
		}
	}
	return 0
}

// defaultPrefixBytes is how much of a prompt stands for it without a session.
const defaultPrefixBytes = 1024

// prefixHash stands for the start of the prompt: requests that share a system
// prompt and a first turn get the same.
func (x *exchange) prefixHash() uint64 {
	if !x.parsed {
		return 0
	}
	for _, f := range promptFields {
		if s := x.scanned.Value(f); s.Present() {
			p := s.Of(x.ctx.Request.Body())
			n := x.be.cfg.PolicyOptions.PrefixBytes
			if n <= 0 {
				n = defaultPrefixBytes
			}
			return routing.HashKey(p[:min(len(p), n)])
		}
	}
	return 0
}

var promptFields = [...]scan.Field{
	scan.FieldMessages, scan.FieldPrompt, scan.FieldInput, scan.FieldText, scan.FieldTokenIDs,
	scan.FieldInputIDs, scan.FieldQuery,
}

// pin sends a request about stored state to the replica that holds it.
func (x *exchange) pin() {
	for _, id := range x.stateIDs() {
		pool, replica, ok := x.server.sessions.get(id)
		if !ok || pool != x.be.cfg.Name {
			continue
		}
		x.query.Pin = replica
		return
	}
}

// stateIDs are the ids of stored state that the request refers to.
func (x *exchange) stateIDs() []string {
	switch {
	case x.route.has(flagStateful):
		if id, ok := responseID(x.target()); ok {
			return []string{id}
		}
	case x.route.kind == scan.KindResponses:
		var ids []string
		for _, v := range [...][]byte{x.scanned.PreviousResponseID, x.scanned.Conversation} {
			if len(v) > 0 {
				ids = append(ids, string(v))
			}
		}
		return ids
	}
	return nil
}

// remember notes where a response lives, from its JSON or its first event.
func (r *record) remember(body []byte) {
	if id := responseIDIn(body); id != "" {
		r.server.sessions.put(id, r.be.cfg.Name, r.replica)
	}
}

// responseIDIn finds the first "id" that names a response. The engines put it
// near the start of the object.
func responseIDIn(body []byte) string {
	const mark = `"id":`
	for rest := body[:min(len(body), 4096)]; ; {
		i := bytes.Index(rest, []byte(mark))
		if i < 0 {
			return ""
		}
		rest = bytes.TrimLeft(rest[i+len(mark):], " ")
		if !bytes.HasPrefix(rest, []byte(`"resp`)) {
			continue
		}
		end := bytes.IndexByte(rest[1:], '"')
		if end < 0 {
			return ""
		}
		return string(rest[1 : 1+end])
	}
}
