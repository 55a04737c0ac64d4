package enginesim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Cut is a way for an answer to end before its time.
type Cut uint8

// The cuts. All but CutHang act in front of event number Fault.After; an answer
// in one piece counts as one event, and is cut in its middle when After is 1 or
// more. An answer that has fewer events is cut in front of its terminator.
const (
	CutNone      Cut = iota
	CutHang          // no byte at all, until the client leaves
	CutHangAfter     // headers and After events, then silence
	CutDie           // the connection is closed without the end of the message
	CutReset         // the same with a TCP reset
	CutAbort         // the answer ends in good form with finish reason "abort"
	CutError         // an error event, then the terminator
)

// Fault is what goes wrong. The zero value is no fault.
type Fault struct {
	Times int     // requests it applies to; 0 means until it is replaced
	Path  string  // applies to paths with this prefix; empty means every generating route
	Slow  float64 // steps take this much longer, for all requests; 0 means 1

	Cut   Cut
	After int // events that get through first

	Status     int    // answer with this status instead of working
	RetryAfter string // value of that header with Status; empty means none

	TruncateJSON bool // an answer in one piece stops short of its Content-Length
	Surplus      bool // bytes follow the end of the response
	CloseIdle    bool // the connection is closed right after the response, unannounced
	CommentsOnly bool // a stream carries comments and no event, until the client leaves
	SplitEvents  bool // events are written in three parts
	CRLF         bool // lines of a stream end in CR LF
	Restart      bool // the engine restarts: every request dies and the cache is empty
	Refuse       int  // connections reset as soon as they are accepted
}

// ParseFault reads "key=value" pairs separated by commas, as the header and the
// command line give them: "die_after_events=3,crlf".
func ParseFault(text string) (Fault, error) {
	var f Fault
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		key, value, _ := strings.Cut(item, "=")
		if err := f.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return Fault{}, err
		}
	}
	return f, nil
}

// UnmarshalJSON reads an object with the keys of ParseFault.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*f = Fault{}
	keys := make([]string, 0, len(raw))
	for k := range raw {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		value := string(raw[k])
		if value == "false" || value == "null" {
			continue
		}
		var s string
		if json.Unmarshal(raw[k], &s) == nil {
			value = s
		}
		if err := f.set(k, value); err != nil {
			return err
		}
	}
	return nil
}

// MarshalJSON writes the object that UnmarshalJSON reads.
func (f Fault) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	for name, value := range f.fields() {
		switch v := value.(type) {
		case *bool:
			if *v {
				m[name] = true
			}
		case *int:
			if *v != 0 {
				m[name] = *v
			}
		case *float64:
			if *v != 0 {
				m[name] = *v
			}
		case *string:
			if *v != "" {
				m[name] = *v
			}
		}
	}
	for name, cut := range cutNames {
		if f.Cut == cut {
			m[name] = f.After
			if cut == CutHang {
				m[name] = true
			}
		}
	}
	return json.Marshal(m)
}

var cutNames = map[string]Cut{
	"hang": CutHang, "hang_after_events": CutHangAfter, "die_after_events": CutDie,
	"rst_after_events": CutReset, "abort_after_events": CutAbort, "error_after_events": CutError,
}

func (f *Fault) fields() map[string]any {
	return map[string]any{
		"times": &f.Times, "path": &f.Path, "slow": &f.Slow,
		"status": &f.Status, "retry_after": &f.RetryAfter,
		"truncate_json": &f.TruncateJSON, "surplus_bytes": &f.Surplus, "close_idle": &f.CloseIdle,
		"comments_only": &f.CommentsOnly, "split_events": &f.SplitEvents, "crlf": &f.CRLF,
		"restart": &f.Restart, "refuse": &f.Refuse,
	}
}

func (f *Fault) set(key, value string) error {
	if key == "error_first_event" {
		f.Cut, f.After = CutError, 0
		return nil
	}
	if cut, ok := cutNames[key]; ok {
		f.Cut = cut
		if cut == CutHang {
			return nil
		}
		return parseInt(key, value, 0, &f.After)
	}
	field, ok := f.fields()[key]
	if !ok {
		return fmt.Errorf("cannot set fault %q: no such fault", key)
	}
	switch p := field.(type) {
	case *bool:
		if value != "" && value != "true" && value != "1" {
			return fmt.Errorf("cannot set fault %s to %q: want true or nothing", key, value)
		}
		*p = true
	case *int:
		least := 0
		if key == "status" {
			least = 400
		}
		return parseInt(key, value, least, p)
	case *float64:
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v > 0 && v <= 1e6) {
			return fmt.Errorf("cannot set fault %s to %q: want a number above 0", key, value)
		}
		*p = v
	case *string:
		*p = value
	}
	return nil
}

func parseInt(key, value string, least int, p *int) error {
	v, err := strconv.Atoi(value)
	if err != nil || v < least || (key == "status" && v > 599) {
		return fmt.Errorf("cannot set fault %s to %q: want an integer in range", key, value)
	}
	*p = v
	return nil
}

// faultBox holds the standing fault.
type faultBox struct {
	mu      sync.Mutex // guards what follows
	fault   Fault
	used    int
	refused int
	changed chan struct{} // closed when the fault is replaced
}

func (b *faultBox) put(f Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
	}
	b.fault, b.used, b.refused, b.changed = f, 0, 0, make(chan struct{})
}

func (b *faultBox) get() Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fault
}

// take returns the fault for one request to path, and a channel that is closed
// when the standing fault is replaced.
func (b *faultBox) take(path string, generates bool) (Fault, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fault
	if f.Path == "" && !generates || !strings.HasPrefix(path, f.Path) {
		return Fault{}, b.changed
	}
	if f.Times > 0 && b.used >= f.Times {
		return Fault{}, b.changed
	}
	b.used++
	return f, b.changed
}

// refuse reports whether the next connection is to be reset.
func (b *faultBox) refuse() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refused >= b.fault.Refuse {
		return false
	}
	b.refused++
	return true
}
