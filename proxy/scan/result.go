package scan

import (
	"errors"
	"strconv"
)

// Error classes; test with errors.Is.
var (
	ErrSyntax    = errors.New("scan: invalid JSON")
	ErrDepth     = errors.New("scan: nesting too deep")
	ErrDuplicate = errors.New("scan: repeated routing member")
	ErrType      = errors.New("scan: routing member of the wrong type")
	ErrTooMany   = errors.New("scan: over a limit")
)

// Error says what is wrong with a body and where. Its text never quotes the body.
type Error struct {
	Class  error  // one of the Err sentinels
	Field  Field  // the member concerned; FieldNone for the document
	Offset int    // byte offset in the body
	Reason string // a constant
}

// Error implements error; the text may be shown to the client.
func (e *Error) Error() string {
	s := "cannot read JSON body: "
	if e.Field != FieldNone {
		s += e.Field.String() + ": "
	}
	return s + e.Reason + " at byte " + strconv.Itoa(e.Offset)
}

// Unwrap returns the class.
func (e *Error) Unwrap() error { return e.Class }

// Limits bound the work and the memory of one scan. Zero fields take defaults.
type Limits struct {
	Depth       int // containers inside each other, the document included; default 64, at most 1000
	Values      int // JSON values in the document; default 16 Mi
	StringBytes int // raw length of a decoded routing string; default 4096
}

const (
	defaultDepth       = 64
	maxDepth           = 1000 // the scanner recurses; this bounds its stack
	defaultValues      = 16 << 20
	defaultStringBytes = 4096
	maxMembers         = 128 // recorded members; named fields fit, so only bootstrap_* can exceed it
)

func (l Limits) withDefaults() Limits {
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	l.Depth = min(l.Depth, maxDepth)
	if l.Values <= 0 {
		l.Values = defaultValues
	}
	if l.StringBytes <= 0 {
		l.StringBytes = defaultStringBytes
	}
	return l
}

// Span is a range of offsets into the scanned body, End exclusive. The zero Span
// means absent: no value can end at offset 0.
type Span struct{ Start, End int }

// Present reports whether the span covers anything.
func (s Span) Present() bool { return s.End > 0 }

// Len is the number of bytes covered.
func (s Span) Len() int { return s.End - s.Start }

// Of returns the bytes covered; nil when absent.
func (s Span) Of(body []byte) []byte {
	if !s.Present() {
		return nil
	}
	return body[s.Start:s.End:s.End]
}

// Tri is a boolean that may be unset.
type Tri uint8

// The states of a Tri.
const (
	Unset Tri = iota
	False
	True
)

// Member is one recognised member of the document.
type Member struct {
	Field Field
	Key   Span // with its quotes
	Value Span // raw JSON value

	prevEnd   int // end of the value before it in its object; 0 for the first
	nextStart int // start of the key after it; 0 for the last
	parent    int // index of the enclosing member; -1 at the top level
	children  int // members of the value when it is an entered object; -1 otherwise
}

// Result is what one scan found. Byte slices alias the body, or memory of the
// Result when the string had escapes; both are valid until the next Scan into
// it and as long as the body is. Reuse a Result to scan without allocations.
type Result struct {
	Kind Kind

	Model              []byte // nil when absent or null
	SessionID          []byte // session_id, else session_params.session_id or .id, else conversation_params.conversation_id
	User               []byte // user, or metadata.user_id for messages
	CacheSalt          []byte
	PromptCacheKey     []byte
	PreviousResponseID []byte
	Conversation       []byte // conversation, or conversation.id

	Stream          bool
	IncludeUsage    bool
	ContinuousUsage bool
	Background      bool
	Store           Tri

	MaxTokens    int64 // requested output limit; -1 when absent. max_completion_tokens wins over max_tokens
	N            int   // answers per prompt; 1 when absent
	PromptCount  int   // prompts in the body; 0 when there is none
	TokenIDs     bool  // the prompt is given as token ids
	PromptTokens int   // how many token ids
	PromptBytes  int   // raw bytes of prompt, messages, system, tools and the like, media data excluded
	MediaParts   int   // objects in messages or input that look like an image, audio or video part
	MediaBytes   int   // raw bytes of inline media data
	Members      int   // members of the top-level object

	members []Member
	at      [fieldCount]uint8 // index + 1 into members
	scratch []byte            // decoded strings that had escapes
	open    int               // offset just after the top-level '{'; 0 when the document is no object
	size    int               // length of the body
}

// Member returns the recognised member f and whether it is there (null counts).
func (r *Result) Member(f Field) (Member, bool) {
	if f >= fieldCount || r.at[f] == 0 {
		return Member{}, false
	}
	return r.members[r.at[f]-1], true
}

// Value returns the raw value of f, the zero Span when absent.
func (r *Result) Value(f Field) Span {
	m, _ := r.Member(f)
	return m.Value
}

// All returns every recognised member in document order. The slice belongs to r.
func (r *Result) All() []Member { return r.members }

// Injected counts the members that Editor.CutInjected would cut.
func (r *Result) Injected() int {
	n := 0
	for i := range r.members {
		if r.members[i].Field.Injected() {
			n++
		}
	}
	return n
}

func (r *Result) reset(kind Kind, size int) {
	members, scratch := r.members[:0], r.scratch[:0]
	*r = Result{Kind: kind, MaxTokens: -1, N: 1, members: members, scratch: scratch, size: size}
}
