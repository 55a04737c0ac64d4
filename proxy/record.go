package proxy

import (
	"time"

	"penstock/pools"
	"penstock/proxy/sse"
	"penstock/routing"
	"penstock/routing/keying"
)

// record is what remains of a request once its bytes are gone: enough to settle
// it, count it and log it. It is small, because every open stream holds one.
type record struct {
	server *Server
	route  *route
	be     *backend

	started   time.Time
	firstByte time.Time // first event of a stream, or the head of an answer
	ended     time.Time

	requestID string
	keyID     string // gateway key, "" none
	tenant    string
	client    string // remote address
	model     string // as the engine knows it, "" unknown
	method    string
	path      string

	replica  pools.ReplicaID
	lease    *pools.Lease
	why      routing.Reason
	tried    int // candidates looked at
	attempts int
	replays  int

	status       int
	code         string // penstock_... when refused or failed
	cause        error
	stream       bool // asked for as a stream
	relayed      bool // its status was sent and the rest follows
	injectedUse  bool // we asked for usage on the client's behalf
	promptTokens int64
	count        keying.Count // of the prompt's tokens, for the comparison with usage
	outputMax    int64
	bytesIn      int
	bytesOut     int64
	events       int64 // content events of a stream
	usage        sse.Usage
	outcome      pools.Outcome
}

// bytesPerToken turns prompt bytes into a guess of tokens where no tokenizer has
// counted them; English text under the common vocabularies has a little over four
// bytes per token.
const bytesPerToken = 4

// defaultOutputTokens is reserved for requests that do not bound their output.
const defaultOutputTokens = 256

func (r *record) cost() pools.Cost {
	return pools.Cost{PromptTokens: r.promptTokens, OutputTokens: r.outputMax}
}

// settle ends the lease and reports the request, once, on every path.
func (r *record) settle() {
	if r.ended.IsZero() {
		r.ended = r.server.now()
	}
	if r.lease != nil {
		r.lease.End(r.outcome)
		r.lease = nil
	}
	r.compare()
	r.server.metrics.settled(r)
	if r.server.access != nil {
		r.server.access.log(r)
	}
}
