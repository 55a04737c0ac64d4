package enginesim

import "strconv"

// wire is how a dialect writes what all dialects say. Methods append to b;
// those that write an event append all of it, the empty line included.
type wire interface {
	errorBody(b []byte, path string, e apiError) []byte
	errorEvent(b []byte, path string, e apiError) []byte

	chatBody(b []byte, h *head, cs []choice, u usage) []byte
	chatEvent(b []byte, h *head, d *delta) []byte
	completionBody(b []byte, h *head, cs []choice, u usage) []byte
	completionEvent(b []byte, h *head, d *delta) []byte
	usage(b []byte, u usage) []byte

	// finishApart says that a chat stream ends in an event of its own, after
	// the one with the last text.
	finishApart() bool
}

// head is what all events of an answer share.
type head struct {
	id        string
	model     string
	created   int64
	promptIDs []uint32 // when return_token_ids asks for them; else nil
	wantIDs   bool
}

// choice is one finished answer.
type choice struct {
	index     int
	text      string
	finish    string
	stopped   string
	ids       []uint32 // nil unless asked for
	promptIDs []uint32 // nil unless asked for
}

// delta is one event of a stream.
type delta struct {
	choice  int
	role    bool // the event that opens a chat answer
	last    bool // no text, only the finish reason (dialects with finishApart)
	text    string
	id      uint32
	finish  string // empty before the end
	stopped string
	usage   *usage
	tail    bool // usage without a choice
	final   bool // the event that carries what only the end of a stream does
	first   bool // first event of this choice
}

// usage counts tokens.
type usage struct {
	prompt, completion, cached int
}

// appendUsage writes the three counts in vLLM's and SGLang's order.
func appendUsage(b []byte, u usage) []byte {
	b = append(b, `"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(u.prompt), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(u.prompt+u.completion), 10)
	b = append(b, `,"completion_tokens":`...)
	return strconv.AppendInt(b, int64(u.completion), 10)
}

// appendHead opens the object of an event or body.
func appendHead(b []byte, h *head, object string) []byte {
	b = append(b, `{"id":`...)
	b = appendString(b, h.id)
	b = append(b, `,"object":"`...)
	b = append(b, object...)
	b = append(b, `","created":`...)
	b = strconv.AppendInt(b, h.created, 10)
	b = append(b, `,"model":`...)
	return appendString(b, h.model)
}

func appendStopped(b []byte, key, stopped string) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":`...)
	return appendNullable(b, stopped)
}
