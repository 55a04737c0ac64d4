package enginesim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"penstock/bench/enginesim/core"
)

type errorKind uint8

const (
	kindBadRequest errorKind = iota // the request makes sense and cannot be served
	kindSchema                      // the body is not what the route wants
	kindNotFound
	kindOverloaded
	kindInternal
)

// apiError is an error on the wire; each dialect has its shape for it.
type apiError struct {
	status  int
	kind    errorKind
	message string
	param   string // empty means null
}

func (e apiError) Error() string { return e.message }

func badRequest(format string, args ...any) apiError {
	return apiError{status: http.StatusBadRequest, kind: kindBadRequest, message: fmt.Sprintf(format, args...)}
}

func schemaError(param, format string, args ...any) apiError {
	return apiError{status: http.StatusBadRequest, kind: kindSchema, message: fmt.Sprintf(format, args...), param: param}
}

func overloaded(d Dialect) apiError {
	e := apiError{status: http.StatusServiceUnavailable, kind: kindOverloaded, message: "The request queue is full."}
	if d == VLLM {
		e.message = "The engine is busy and accepts no new request now. Try again later or on another instance."
	}
	return e
}

// asAPIError turns an error of the engine into one of the wire.
func asAPIError(d Dialect, err error) apiError {
	var e apiError
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, core.ErrQueueFull):
		return overloaded(d)
	}
	return badRequest("%v", err)
}

// plainStatus is the error of fault "status".
func plainStatus(code int) apiError {
	kind := kindInternal
	switch code {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		kind = kindOverloaded
	case http.StatusBadRequest:
		kind = kindBadRequest
	case http.StatusNotFound:
		kind = kindNotFound
	}
	return apiError{status: code, kind: kind, message: http.StatusText(code)}
}

// statusName is the type that Python servers derive from a status:
// "SERVICE_UNAVAILABLE".
func statusName(code int) string {
	return strings.ToUpper(strings.ReplaceAll(http.StatusText(code), " ", "_"))
}

// anthropicError is the shape of /v1/messages on every server.
func anthropicError(b []byte, e apiError) []byte {
	kind := "api_error"
	switch e.status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case http.StatusServiceUnavailable:
		kind = "overloaded_error"
	}
	b = append(b, `{"type":"error","error":{"type":`...)
	b = appendString(b, kind)
	b = append(b, `,"message":`...)
	b = appendString(b, e.message)
	return append(b, "}}"...)
}

func appendEvent(b []byte, body func([]byte) []byte) []byte {
	b = append(b, "data: "...)
	b = body(b)
	return append(b, "\n\n"...)
}
