package proxy

import "strconv"

// Error is what a client is told. Its cause goes to the log, never to the wire.
type Error struct {
	Status     int
	Code       string // penstock_..., from a closed set
	Public     string // for the client; quotes nothing of the request
	RetryAfter int    // seconds; 0 none
	Allow      string // value of the Allow field; "" none
	Close      bool   // the connection cannot be used again
	Cause      error
}

// Error describes the refusal with its cause.
func (e *Error) Error() string {
	s := e.Code + " (" + strconv.Itoa(e.Status) + "): " + e.Public
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// The codes of refusals. They are the values of the reason label as well.
const (
	codeFraming      = "penstock_bad_framing"
	codeNotFound     = "penstock_route_not_found"
	codeMethod       = "penstock_method_not_allowed"
	codeUpgrade      = "penstock_upgrade_not_supported"
	codeExpectation  = "penstock_expectation_failed"
	codeNoKey        = "penstock_missing_key"
	codeBadKey       = "penstock_invalid_key"
	codeModelDenied  = "penstock_model_not_allowed"
	codeModelUnknown = "penstock_model_not_found"
	codeBadBody      = "penstock_invalid_body"
	codeTooLarge     = "penstock_body_too_large"
	codeHeaderTooBig = "penstock_headers_too_large"
	codeTimeout      = "penstock_request_timeout"
	codeInFlight     = "penstock_too_many_requests"
	codeMemory       = "penstock_body_memory"
	codeNoReplica    = "penstock_no_replica"
	codeConnect      = "penstock_upstream_connect"
	codeUpstream     = "penstock_upstream_failed"
	codeFirstByte    = "penstock_upstream_timeout"
	codeTruncated    = "penstock_upstream_truncated"
	codeBadAnswer    = "penstock_upstream_bad_answer"
	codeGap          = "penstock_upstream_stalled"
	codeTotal        = "penstock_total_timeout"
	codeShutdown     = "penstock_shutting_down"
	codeRemoved      = "penstock_replica_removed"
	codeInternal     = "penstock_internal"
	codeClientGone   = "penstock_client_gone"
	codeClientSlow   = "penstock_client_slow"
)

// statusClientGone is nginx's number for a client that left; it is logged and
// never sent.
const statusClientGone = 499

func errFraming(f framingFault) *Error {
	return &Error{
		Status: 400, Code: codeFraming, Close: true,
		Public: "request head refused: " + string(f),
	}
}
