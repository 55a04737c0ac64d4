package value

import "errors"

// Why work with a Memory was stopped.
var (
	ErrMemory  = errors.New("value: out of memory")
	ErrExpired = errors.New("value: out of time")
)

// Stop is the panic by which a Memory with a Limit or with Expired ends the work of
// whoever fills it, from any depth: parsing, conversions and templates make values in
// hundreds of places, none of which could do anything about it. Who sets Limit or
// Expired recovers it, and drops what the work was done with.
type Stop struct{ Err error }

// checkEvery is how many values or objects are made between two checks.
const checkEvery = 256

// Check panics with a Stop if the work must end.
func (m *Memory) Check() {
	if m.Limit > 0 && m.Used()+len(m.stack)*valueSize+len(m.pending)*entrySize > m.Limit {
		panic(Stop{ErrMemory})
	}
	if m.Expired != nil && m.Expired() {
		panic(Stop{ErrExpired})
	}
}

// count is Check now and then.
func (m *Memory) count() {
	if m.made++; m.made%checkEvery == 0 {
		m.Check()
	}
}
