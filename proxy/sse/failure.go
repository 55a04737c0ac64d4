package sse

import (
	"strconv"
	"unicode/utf8"
)

// defaultStatus is for errors that name no status: the engine's fault.
const defaultStatus = 500

// FirstEvent returns the payload of the first event with data in buf, and the
// offset behind that event. Comments and blank lines before it are skipped. It
// is false while no such event is complete. The payload aliases buf, unless the
// event has several data lines.
func FirstEvent(buf []byte) (payload []byte, end int, ok bool) {
	f := framer{lineStart: true}
	f.begin()
	p := parser{bom: true}
	for pos := 0; ; {
		pos += f.trailer(buf, pos)
		next, found := f.find(buf, pos)
		if !found {
			return nil, 0, false
		}
		m := p.parse(buf[pos:next], &f)
		pos = next
		if m.hasData {
			return m.payload, pos + f.trailer(buf, pos), true
		}
	}
}

// ErrorIn reports whether a JSON payload, of an event or of a whole answer, is an
// error in one of the known shapes, and the HTTP status that it amounts to: its
// numeric code, else what its type or code is known to mean, else 500.
func ErrorIn(payload []byte) (status int, isError bool) {
	w := walker{b: payload}
	w.space()
	if w.peek() != '{' {
		return 0, false
	}
	w.i++
	var e failure
	for key := w.key(); key != nil; key = w.key() {
		switch string(key) {
		case "error":
			isError = e.readError(&w) || isError
		case "object", "type":
			raw := w.skip()
			switch string(raw) {
			case `"error"`, `"response.failed"`:
				isError = true
			default:
				e.kind = keepFirst(e.kind, unquote(raw))
			}
		case "response":
			e.readResponse(&w)
		case "code":
			e.setCode(w.skip())
		default:
			w.skip()
		}
	}
	if !isError {
		return 0, false
	}
	return e.status(), true
}

// failure is what an error object says about itself.
type failure struct {
	code int    // numeric code; 0 when none
	text []byte // code that is a name
	kind []byte // type
}

// readError reads the value of an error member: an object, or a plain string.
func (e *failure) readError(w *walker) bool {
	if w.peek() != '{' {
		raw := w.skip()
		e.text = unquote(raw)
		return !isNull(raw)
	}
	w.enter('{')
	for key := w.key(); key != nil; key = w.key() {
		switch string(key) {
		case "code":
			e.setCode(w.skip())
		case "type":
			e.kind = unquote(w.skip())
		default:
			w.skip()
		}
	}
	return true
}

// readResponse looks for the error of a response.failed event.
func (e *failure) readResponse(w *walker) {
	if !w.enter('{') {
		return
	}
	for key := w.key(); key != nil; key = w.key() {
		if string(key) == "error" {
			e.readError(w)
		} else {
			w.skip()
		}
	}
}

func (e *failure) setCode(raw []byte) {
	text := unquote(raw)
	if text == nil {
		text = raw
	}
	if n, ok := count(text); ok {
		if n >= 400 && n <= 599 {
			e.code = int(n)
		}
		return
	}
	if raw != nil && raw[0] == '"' {
		e.text = text
	}
}

func (e *failure) status() int {
	if e.code != 0 {
		return e.code
	}
	if s := namedStatus(e.text); s != 0 {
		return s
	}
	if s := namedStatus(e.kind); s != 0 {
		return s
	}
	return defaultStatus
}

func keepFirst(have, next []byte) []byte {
	if have != nil {
		return have
	}
	return next
}

// namedStatus maps the error types and codes of OpenAI, Anthropic and the engines.
func namedStatus(name []byte) int {
	switch string(name) {
	case "invalid_request_error", "BadRequestError", "Bad Request", "json_parse_error", "invalid_prompt",
		"context_length_exceeded", "BAD_REQUEST":
		return 400
	case "authentication_error", "invalid_api_key", "Unauthorized":
		return 401
	case "permission_error":
		return 403
	case "not_found_error", "NotFoundError", "model_not_found":
		return 404
	case "request_too_large":
		return 413
	case "UnprocessableEntityError":
		return 422
	case "rate_limit_error", "rate_limit_exceeded", "RateLimitError":
		return 429
	case "NotImplementedError":
		return 501
	case "overloaded_error", "SERVICE_UNAVAILABLE", "ServiceUnavailableError", "service_unavailable":
		return 503
	case "timeout_error":
		return 504
	}
	return 0
}

// Failure is an error of the gateway's own, to be written in the shape of an API.
type Failure struct {
	Status   int    // HTTP status; chooses the type
	Code     string // stable machine code, such as penstock_upstream_lost
	Message  string // for people; safe to show to the client
	Sequence int    // events sent before, for the responses API
}

// AppendErrorEvent appends an event that reports a failure in the middle of a
// stream. It never says [DONE]: a stream that failed must not look complete.
func AppendErrorEvent(dst []byte, api API, f Failure) []byte {
	switch api {
	case APIMessages:
		dst = append(dst, "event: error\ndata: "...)
		dst = AppendErrorBody(dst, api, f)
	case APIResponses:
		dst = append(dst, "event: error\ndata: "+`{"type":"error","code":`...)
		dst = appendString(dst, f.Code)
		dst = append(dst, `,"message":`...)
		dst = appendString(dst, f.Message)
		dst = append(dst, `,"param":null,"sequence_number":`...)
		dst = strconv.AppendInt(dst, int64(f.Sequence), 10)
		dst = append(dst, '}')
	case APIOther, APIChat, APICompletions, APIGenerate:
		dst = append(dst, "data: "...)
		dst = AppendErrorBody(dst, api, f)
	}
	return append(dst, "\n\n"...)
}

// AppendErrorBody appends the JSON body of an error answer.
func AppendErrorBody(dst []byte, api API, f Failure) []byte {
	if api == APIMessages {
		dst = append(dst, `{"type":"error","error":{"type":`...)
		dst = appendString(dst, anthropicType(f.Status))
		dst = append(dst, `,"message":`...)
		dst = appendString(dst, f.Message)
		return append(dst, `}}`...)
	}
	dst = append(dst, `{"error":{"message":`...)
	dst = appendString(dst, f.Message)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, openAIType(f.Status))
	dst = append(dst, `,"param":null,"code":`...)
	if f.Code == "" {
		dst = strconv.AppendInt(dst, int64(f.Status), 10)
	} else {
		dst = appendString(dst, f.Code)
	}
	return append(dst, `}}`...)
}

// openAIType names a status as OpenAI does. Its SDKs go by the status, so the
// exact word matters to people and logs only.
func openAIType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 429:
		return "rate_limit_error"
	case 503:
		return "overloaded_error"
	case 504:
		return "timeout_error"
	}
	if status >= 400 && status < 500 {
		return "invalid_request_error"
	}
	return "server_error"
}

// anthropicType names a status by Anthropic's table of errors.
func anthropicType(status int) string {
	switch status {
	case 413:
		return "request_too_large"
	case 529:
		return "overloaded_error"
	}
	if t := openAIType(status); t != "server_error" {
		return t
	}
	return "api_error"
}

// appendString appends s as a JSON string on one line. Invalid UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
