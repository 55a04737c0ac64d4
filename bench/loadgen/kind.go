package loadgen

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
)

// Kind is why a request failed. The set is closed.
type Kind string

// The kinds.
const (
	Connect      Kind = "connect"       // no connection
	Reset        Kind = "reset"         // connection lost before the answer, or reset within it
	Timeout      Kind = "timeout"       // no complete answer in time
	Status4xx    Kind = "status_4xx"    //
	Status5xx    Kind = "status_5xx"    //
	Truncated    Kind = "truncated"     // ended without what marks the end
	ErrorEvent   Kind = "error_event"   // an error told inside an answer of status 200
	Aborted      Kind = "aborted"       // finish_reason "abort": the engine gave up and said so
	WrongContent Kind = "wrong_content" // not an answer of the API called
	Canceled     Kind = "canceled"      // the run was interrupted; not counted as a request
)

// failure is an error with its kind.
type failure struct {
	kind  Kind
	cause error
}

func (f *failure) Error() string { return string(f.kind) + ": " + f.cause.Error() }
func (f *failure) Unwrap() error { return f.cause }

func fail(kind Kind, text string) error { return &failure{kind: kind, cause: errors.New(text)} }

// kindOf classifies err. begun says that the answer's head had arrived.
func kindOf(ctx context.Context, err error, begun bool) Kind {
	var f *failure
	var n net.Error
	switch {
	case ctx.Err() != nil:
		return Canceled
	case errors.As(err, &f):
		return f.kind
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &n) && n.Timeout():
		return Timeout
	case begun && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return Truncated
	default:
		return Reset
	}
}
