package scan

// Editor collects what is to change in a scanned body and turns it into splices
// that leave valid JSON. It is reusable; a warm one does not allocate. The zero
// value needs a Reset. Texts passed in are copied.
type Editor struct {
	body  []byte
	r     *Result
	acts  []act // one for each recorded member
	adds  []add
	edits []Edit
	text  []byte // all new text
}

type act struct {
	verb    verb
	grown   bool // text is an object built by Set, which may still grow
	leading bool // cut, and so is everything before it in its object
	text    Span // into Editor.text
}

type verb uint8

const (
	keep verb = iota
	cut
	replace
)

// add is a member to insert at the start of an object.
type add struct {
	parent int // index of the member whose object it is; -1 for the document
	field  Field
	grown  bool
	key    Span // into Editor.text
	value  Span // into Editor.text
}

// Reset starts over with a body and the result of scanning it.
func (e *Editor) Reset(body []byte, r *Result) {
	if len(body) != r.size {
		panic("BUG: scan: the result belongs to another body")
	}
	e.body, e.r = body, r
	e.adds, e.edits, e.text = e.adds[:0], e.edits[:0], e.text[:0]
	e.acts = e.acts[:0]
	for range r.members {
		e.acts = append(e.acts, act{})
	}
}

// Cut removes the member f, if present.
func (e *Editor) Cut(f Field) {
	if i := int(e.r.at[f]) - 1; i >= 0 {
		e.acts[i] = act{verb: cut}
	}
}

// CutInjected removes every injection member, nested ones included.
func (e *Editor) CutInjected() {
	for i := range e.r.members {
		if e.r.members[i].Field.Injected() {
			e.acts[i] = act{verb: cut}
		}
	}
}

// Set gives f the raw JSON value, replacing the member or adding it, with the
// members around it if they are missing. The last call for a field wins. It
// reports false when there is no place for it: the document is no object, or f
// belongs into an element of a list (SGLang's batched sampling_params).
func (e *Editor) Set(f Field, raw []byte) bool {
	if f == FieldNone || f == FieldBootstrapOther || !fields[f].kinds.has(e.r.Kind) {
		panic("BUG: scan: field cannot be set in this kind of body: " + f.String())
	}
	if e.r.open == 0 {
		return false
	}
	if i := int(e.r.at[f]) - 1; i >= 0 {
		return e.replace(f, i, raw)
	}
	for i := range e.adds {
		if e.adds[i].field == f {
			e.adds[i].value = e.keepText(raw)
			return true
		}
	}
	p := f.parent()
	if p == FieldNone {
		e.add(-1, f, raw, false)
		return true
	}
	return e.setIn(p, f, raw)
}

// SetString is Set with a JSON string.
func (e *Editor) SetString(f Field, value string) bool {
	start := len(e.text)
	e.text = AppendString(e.text, value)
	return e.Set(f, e.text[start:])
}

// SetModel replaces the model name.
func (e *Editor) SetModel(name string) bool { return e.SetString(FieldModel, name) }

// IncludeUsage asks the engine for a usage event at the end of the stream.
func (e *Editor) IncludeUsage() bool { return e.Set(FieldIncludeUsage, []byte("true")) }

// Insert adds a top-level member that is no Field of this kind of body; Set is
// for those. The caller knows that the body does not hold the key already.
func (e *Editor) Insert(key string, raw []byte) bool {
	if lookup(scopeTop, []byte(key), e.r.Kind) != FieldNone {
		panic("BUG: scan: Insert of a known field: " + key)
	}
	if e.r.open == 0 {
		return false
	}
	start := len(e.text)
	e.text = AppendString(e.text, key)
	name := Span{start, len(e.text)}
	e.adds = append(e.adds, add{parent: -1, key: name, value: e.keepText(raw)})
	return true
}

// Edits returns the splices, sorted. The slice and its texts belong to e.
func (e *Editor) Edits() []Edit {
	e.edits = e.edits[:0]
	for i := range e.acts {
		if e.swallowed(i) {
			continue
		}
		m := &e.r.members[i]
		switch e.acts[i].verb {
		case cut:
			e.edits = append(e.edits, Edit{Span: e.cutSpan(i)})
		case replace:
			e.edits = append(e.edits, Edit{Span: m.Value, Text: e.of(e.acts[i].text)})
		case keep:
		}
	}
	for i := range e.adds {
		e.flushAdds(i)
	}
	sortEdits(e.edits)
	return e.edits
}

// Size is the length of the edited body.
func (e *Editor) Size() int {
	n := len(e.body)
	for _, d := range e.Edits() {
		n += len(d.Text) - d.Len()
	}
	return n
}

// Append appends the edited body to dst.
func (e *Editor) Append(dst []byte) []byte { return Apply(dst, e.body, e.Edits()) }

func (e *Editor) of(s Span) []byte { return e.text[s.Start:s.End:s.End] }

func (e *Editor) keepText(raw []byte) Span {
	start := len(e.text)
	e.text = append(e.text, raw...)
	return Span{start, len(e.text)}
}

func (e *Editor) replace(f Field, i int, raw []byte) bool {
	m := &e.r.members[i]
	if p := m.parent; p >= 0 && e.acts[p].verb != keep {
		// The object around it is gone; build it anew with this member only.
		return e.setIn(e.r.members[p].Field, f, raw)
	}
	e.acts[i] = act{verb: replace, text: e.keepText(raw)}
	return true
}

func (e *Editor) add(parent int, f Field, raw []byte, grown bool) {
	start := len(e.text)
	e.text = AppendString(e.text, fields[f].name)
	key := Span{start, len(e.text)}
	e.adds = append(e.adds, add{parent: parent, field: f, key: key, value: e.keepText(raw), grown: grown})
}

// setIn puts f into the object of its parent p, wherever that stands by now.
func (e *Editor) setIn(p, f Field, raw []byte) bool {
	for i := range e.adds {
		if a := &e.adds[i]; a.field == p {
			if !a.grown {
				panic("BUG: scan: a member and the object around it are both set")
			}
			a.value = e.grow(a.value, f, raw)
			return true
		}
	}
	i := int(e.r.at[p]) - 1
	if i < 0 {
		return e.setObject(p, f, raw)
	}
	switch a, m := &e.acts[i], &e.r.members[i]; {
	case a.verb == replace && a.grown:
		a.text = e.grow(a.text, f, raw)
	case a.verb == replace:
		panic("BUG: scan: a member and the object around it are both set")
	case a.verb == keep && m.children >= 0:
		e.add(i, f, raw, false)
	case a.verb == keep && e.body[m.Value.Start] == '[':
		return false
	default:
		return e.setObject(p, f, raw)
	}
	return true
}

// setObject sets p to an object that holds only f.
func (e *Editor) setObject(p, f Field, raw []byte) bool {
	value := e.grow(Span{}, f, raw)
	if !e.Set(p, e.of(value)) {
		return false
	}
	if i := int(e.r.at[p]) - 1; i >= 0 {
		e.acts[i].grown = true
		return true
	}
	for i := range e.adds {
		if e.adds[i].field == p {
			e.adds[i].grown = true
		}
	}
	return true
}

// grow adds a member to an object text; the zero Span is an object to begin.
func (e *Editor) grow(object Span, f Field, raw []byte) Span {
	start := len(e.text)
	if object.Present() {
		e.text = append(e.text, e.text[object.Start:object.End-1]...)
		e.text = append(e.text, ',')
	} else {
		e.text = append(e.text, '{')
	}
	e.text = AppendString(e.text, fields[f].name)
	e.text = append(e.text, ':')
	e.text = append(e.text, raw...)
	e.text = append(e.text, '}')
	return Span{start, len(e.text)}
}

// swallowed reports whether an enclosing member is cut or replaced anyway.
func (e *Editor) swallowed(i int) bool {
	for p := e.r.members[i].parent; p >= 0; p = e.r.members[p].parent {
		if e.acts[p].verb != keep {
			return true
		}
	}
	return false
}

// cutSpan widens member i to a span whose removal leaves a valid object. While
// everything before it goes as well, it takes the comma behind it; otherwise
// the comma before it. So neighbours that are both cut never overlap.
func (e *Editor) cutSpan(i int) Span {
	m := &e.r.members[i]
	leading := m.prevEnd == 0
	for j := i - 1; j >= 0 && !leading; j-- {
		if e.r.members[j].Value.End == m.prevEnd && e.r.members[j].parent == m.parent {
			leading = e.acts[j].verb == cut && e.acts[j].leading
			break
		}
	}
	e.acts[i].leading = leading
	switch {
	case !leading:
		return Span{m.prevEnd, m.Value.End}
	case m.nextStart > 0:
		return Span{m.Key.Start, m.nextStart}
	}
	return Span{m.Key.Start, m.Value.End}
}

// flushAdds emits one insertion with all members added to the same object, when
// i is the first of them.
func (e *Editor) flushAdds(i int) {
	parent := e.adds[i].parent
	for j := range i {
		if e.adds[j].parent == parent {
			return
		}
	}
	at, left := e.r.open, e.r.Members
	if parent >= 0 {
		if e.acts[parent].verb != keep || e.swallowed(parent) {
			return
		}
		at, left = e.r.members[parent].Value.Start+1, e.r.members[parent].children
	}
	for j := range e.acts {
		if e.acts[j].verb == cut && e.r.members[j].parent == parent {
			left--
		}
	}
	start := len(e.text)
	for _, a := range e.adds[i:] {
		if a.parent != parent {
			continue
		}
		if len(e.text) > start {
			e.text = append(e.text, ',')
		}
		e.text = append(e.text, e.text[a.key.Start:a.key.End]...)
		e.text = append(e.text, ':')
		e.text = append(e.text, e.text[a.value.Start:a.value.End]...)
	}
	if left > 0 {
		e.text = append(e.text, ',')
	}
	e.edits = append(e.edits, Edit{Span: Span{at, at}, Text: e.of(Span{start, len(e.text)})})
}
