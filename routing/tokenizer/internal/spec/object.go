package spec

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// object is a small JSON object whose every key must be asked for: what is left over
// at the end is an option that this code does not know, and is refused.
type object struct {
	part   string // what to call it in errors
	values map[string]json.RawMessage
	err    error // the first one
}

// newObject reads an object.
func newObject(part string, data []byte) *object {
	o := &object{part: part}
	if err := json.Unmarshal(data, &o.values); err != nil || o.values == nil {
		o.err = Invalid("%s is no object", part)
	}
	return o
}

// fail keeps the first error.
func (o *object) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// take removes a value; null counts as absent.
func (o *object) take(key string) (json.RawMessage, bool) {
	value, found := o.values[key]
	delete(o.values, key)
	return value, found && !bytes.Equal(value, []byte("null"))
}

// into decodes a value, and says false when it is absent.
func (o *object) into(key string, target any) bool {
	value, found := o.take(key)
	if !found {
		return false
	}
	if err := json.Unmarshal(value, target); err != nil {
		o.fail(Invalid("%s: %s has an unexpected type", o.part, key))
		return false
	}
	return true
}

func (o *object) text(key string) string {
	var value string
	o.into(key, &value)
	return value
}

func (o *object) bool(key string, otherwise bool) bool {
	value := otherwise
	o.into(key, &value)
	return value
}

// character reads a text of one character.
func (o *object) character(key string) string {
	value := o.text(key)
	if utf8.RuneCountInString(value) != 1 {
		o.fail(Invalid("%s: %s is not one character", o.part, key))
	}
	return value
}

// choice reads a text that must be one of a few.
func (o *object) choice(key, otherwise string, known ...string) string {
	value := otherwise
	o.into(key, &value)
	if !slices.Contains(known, value) {
		o.fail(Unsupported(o.part+" "+key, value))
	}
	return value
}

// pattern reads {"String": ...} or {"Regex": ...}.
func (o *object) pattern(key string) Pattern {
	value, found := o.take(key)
	if !found {
		o.fail(Invalid("%s has no %s", o.part, key))
		return Pattern{}
	}
	inner := newObject(o.part+" "+key, value)
	var p Pattern
	if !inner.into("String", &p.Text) {
		p.Regex = inner.into("Regex", &p.Text)
	}
	o.fail(inner.end())
	return p
}

// end is the first error, or the option that nobody asked for.
func (o *object) end() error {
	if o.err != nil {
		return o.err
	}
	left := make([]string, 0, len(o.values))
	for key := range o.values {
		left = append(left, key)
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return Unsupported(o.part+" option", left[0])
}

// null says whether a part is absent.
func null(data []byte) bool { return len(data) == 0 || bytes.Equal(data, []byte("null")) }

// list reads an array.
func list(part string, data []byte) ([]json.RawMessage, error) {
	var values []json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, Invalid("%s is no array", part)
	}
	return values, nil
}
