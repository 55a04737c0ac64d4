package jinja

import (
	"penstock/routing/chattemplate/value"
)

var dictMethods = map[string]methodFunc{
	"items":    viewMethod(overItems),
	"keys":     viewMethod(overKeys),
	"values":   viewMethod(overValues),
	"get":      dictGet,
	"copy":     copyMethod,
	"fromkeys": strUnsupported("fromkeys"),
}

var listMethods = map[string]methodFunc{"index": listIndex, "count": listCount, "copy": copyMethod}

var tupleMethods = map[string]methodFunc{"index": listIndex, "count": listCount}

// viewAttrs are attributes of Python's views, generators and functions that may be
// asked for by name.
var viewAttrs = map[string]bool{
	"mapping": true, "isdisjoint": true, "send": true, "throw": true, "close": true,
	"gi_running": true, "gi_yieldfrom": true, "gi_suspended": true, "sep": true, "used": true,
}

func viewMethod(kind iteration) methodFunc {
	return func(r *run, recv value.Value, a arguments) value.Value {
		if len(a.pos)+len(a.names) > 0 {
			return r.raise("method takes no arguments")
		}
		return r.m.NewOther(&dictView{recv, kind})
	}
}

func dictGet(r *run, recv value.Value, a arguments) value.Value {
	var p [2]value.Value
	if !r.bindArgs("get", a, p[:], 1, "", "") {
		return value.Value{}
	}
	if !value.Hashable(p[0]) {
		return r.raise("unhashable type: %s", typeName(p[0]))
	}
	switch i := recv.Find(p[0]); {
	case i >= 0:
		return recv.EntryValue(i)
	case isMissing(p[1]):
		return none
	default:
		return p[1]
	}
}

func copyMethod(r *run, recv value.Value, a arguments) value.Value {
	if len(a.pos)+len(a.names) > 0 || !r.room(recv.Len()*2*valueSize) {
		return r.raise("copy takes no arguments")
	}
	return r.m.Clone(recv)
}

func listIndex(r *run, recv value.Value, a arguments) value.Value {
	var p [3]value.Value
	if !r.bindArgs("index", a, p[:], 1, "", "", "") {
		return value.Value{}
	}
	recv = r.m.ListOf(r.elements(recv))
	from, ok := r.bound(p[1], 0, recv.Len())
	to, alsoOK := r.bound(p[2], recv.Len(), recv.Len())
	for i := from; ok && alsoOK && i < min(to, recv.Len()); i++ {
		if r.equal(recv.Index(i), p[0]) {
			return r.m.NewInt(int64(i))
		}
	}
	return r.raise("value is not in list")
}

// rangeIndex takes no bounds.
func rangeIndex(r *run, recv value.Value, a arguments) value.Value {
	var p [1]value.Value
	if !r.bindArgs("index", a, p[:], 1, "") {
		return value.Value{}
	}
	return listIndex(r, recv, a)
}

func listCount(r *run, recv value.Value, a arguments) value.Value {
	var p [1]value.Value
	if !r.bindArgs("count", a, p[:], 1, "") {
		return value.Value{}
	}
	n := 0
	for _, v := range r.elements(recv) {
		if r.equal(v, p[0]) {
			n++
		}
	}
	return r.m.NewInt(int64(n))
}

// loopMethod is loop.cycle or loop.changed.
func loopMethod(name string) methodFunc {
	if name == "cycle" {
		return func(r *run, recv value.Value, a arguments) value.Value {
			s, ok := recv.Ext().(*loopState)
			if !ok || len(a.names) > 0 || len(a.pos) == 0 {
				return r.raise("no items for cycling given")
			}
			return a.pos[s.index0%len(a.pos)]
		}
	}
	return func(r *run, recv value.Value, a arguments) value.Value {
		s, ok := recv.Ext().(*loopState)
		if !ok || len(a.names) > 0 {
			return r.raise("changed takes no keywords")
		}
		now := r.m.NewTuple(r.copyValues(a.pos))
		changed := !s.called || !r.equal(s.changed, now)
		if changed {
			s.called, s.changed = true, now
		}
		return value.NewBool(changed)
	}
}

func cyclerMethod(name string) methodFunc {
	return func(r *run, recv value.Value, a arguments) value.Value {
		c, ok := recv.Ext().(*cycler)
		if !ok || len(a.pos)+len(a.names) > 0 {
			return r.raise("%s takes no arguments", name)
		}
		if name == "reset" {
			c.at = 0
			return none
		}
		now := c.items[c.at]
		c.at = (c.at + 1) % len(c.items)
		return now
	}
}

func (r *run) makeCycler(a arguments) value.Value {
	if len(a.pos) == 0 || len(a.names) > 0 {
		return r.raise("at least one item has to be provided")
	}
	return r.m.NewOther(&cycler{items: r.copyValues(a.pos)})
}

func (r *run) makeJoiner(a arguments) value.Value {
	p := [1]value.Value{}
	if !r.bindArgs("joiner", a, p[:], 0, "sep") {
		return value.Value{}
	}
	if isMissing(p[0]) {
		p[0] = value.NewString([]byte(", "))
	}
	return r.m.NewOther(&joiner{sep: p[0]})
}

func (r *run) callJoiner(j *joiner) value.Value {
	if !j.used {
		j.used = true
		return value.NewString(nil)
	}
	return j.sep
}

// maxRange is the sandbox's limit on ranges.
const maxRange = 100000

func (r *run) makeRange(a arguments) value.Value {
	if len(a.names) > 0 || len(a.pos) < 1 || len(a.pos) > 3 {
		return r.raise("range takes one to three arguments")
	}
	var n [3]int64
	for i, v := range a.pos {
		var ok bool
		if n[i], ok = v.Int64(); v.Kind() != value.Int && v.Kind() != value.Bool {
			return r.raise("range takes ints, not %s", typeName(v))
		} else if !ok || n[i] > 1<<61 || n[i] < -1<<61 {
			return r.unsupported("a range of large ints")
		}
	}
	x := &rangeValue{start: n[0], stop: n[1], step: 1}
	switch len(a.pos) {
	case 1:
		x.start, x.stop = 0, n[0]
	case 3:
		x.step = n[2]
	}
	if x.step == 0 {
		return r.raise("range step must not be zero")
	}
	length := int64(0)
	switch {
	case x.step > 0 && x.stop > x.start:
		length = (x.stop-x.start-1)/x.step + 1
	case x.step < 0 && x.stop < x.start:
		length = (x.start-x.stop-1)/-x.step + 1
	}
	if length > maxRange {
		return r.raise("range too big")
	}
	x.length = int(length)
	return r.m.NewOther(x)
}

// makeDict is dict(mapping or pairs, **entries).
func (r *run) makeDict(a arguments) value.Value {
	if len(a.pos) > 1 {
		return r.raise("dict expected at most 1 argument")
	}
	d := r.m.NewDict(len(a.names))
	if len(a.pos) == 1 {
		r.fillDict(d, a.pos[0])
	}
	for i, name := range a.names {
		if !r.room(2*valueSize + len(name)) {
			return d
		}
		r.m.Set(d, name, a.vals[i])
	}
	return d
}

// fillDict sets the entries of a dict, or of pairs, in d.
func (r *run) fillDict(d, from value.Value) {
	if ns, ok := from.Ext().(*namespace); ok {
		r.raise("%d attributes of a namespace are not iterable", ns.attrs.Len())
		return
	}
	if from.Kind() == value.Dict {
		for i := range from.Len() {
			if !r.room(2 * valueSize) {
				return
			}
			r.m.SetValue(d, from.EntryKey(i), from.EntryValue(i))
		}
		return
	}
	it, ok := r.iterate(from)
	for ok {
		var pair value.Value
		if pair, ok = it.next(r); !ok {
			return
		}
		items := r.elements(pair)
		if len(items) != 2 {
			r.raise("dictionary update sequence element has length %d; 2 is required", len(items))
			return
		}
		if r.room(2*valueSize) && !r.m.SetValue(d, items[0], items[1]) {
			r.raise("unhashable type: %s", typeName(items[0]))
		}
		ok = r.err == nil
	}
}

func (r *run) raiseException(a arguments) value.Value {
	var p [1]value.Value
	if !r.bindArgs("raise_exception", a, p[:], 1, "message") {
		return value.Value{}
	}
	return r.raise("%s", r.str(p[0]))
}

// sliced is obj[start:stop:step].
func (r *run) sliced(obj value.Value, parts [3]expr) value.Value {
	var bounds [3]value.Value
	for i, part := range parts {
		bounds[i] = none
		if part != nil {
			bounds[i] = part(r)
		}
		if k := bounds[i].Kind(); r.err == nil && k != value.None && k != value.Int && k != value.Bool {
			return r.raise("slice indices must be integers or None, not %s", typeName(bounds[i]))
		}
	}
	if r.err != nil {
		return value.Value{}
	}
	switch obj.Kind() {
	case value.String:
		return sameMarkup(obj, r.sliceString(obj.Bytes(), bounds))
	case value.List:
		start, n, step, ok := r.sliceRange(bounds, obj.Len())
		if !ok || !r.room(n*valueSize) {
			return value.Value{}
		}
		items := r.m.Values(n)
		for i := range items {
			items[i] = obj.Index(start + i*step)
		}
		if obj.IsTuple() {
			return r.m.NewTuple(items)
		}
		return r.m.ListOf(items)
	default:
	}
	if x, ok := obj.Ext().(*rangeValue); ok {
		return r.sliceOfRange(x, bounds)
	}
	return r.raise("%s cannot be sliced", typeName(obj))
}

// sliceOfRange is a range whose ends are those of the slice, as Python prints them.
func (r *run) sliceOfRange(x *rangeValue, bounds [3]value.Value) value.Value {
	start, n, step, ok := r.sliceRange(bounds, x.length)
	if !ok {
		return value.Value{}
	}
	stop := x.length
	if step < 0 {
		stop = -1
	}
	if bounds[1].Kind() != value.None {
		stop = sliceEnd(bounds[1], x.length, step)
	}
	by := int64(step)
	if bounds[2].Kind() != value.None {
		if by, ok = bounds[2].Int64(); !ok || max(by, -by) > 1<<31 {
			return r.unsupported("a slice by a large int")
		}
	}
	if max(x.step, -x.step) > 1<<31 {
		return r.unsupported("a slice of a range by a large int")
	}
	at := func(i int) int64 { return x.start + int64(i)*x.step }
	return r.m.NewOther(&rangeValue{start: at(start), stop: at(stop), step: by * x.step, length: n})
}

// sliceEnd is where a bound of a slice of n elements lies.
func sliceEnd(v value.Value, n, step int) int {
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	i := clampInt(v, 2*n+2)
	if i < 0 {
		i += n
	}
	return min(max(i, low), high)
}

// sliceRange is where a slice of n elements starts and how many it has.
func (r *run) sliceRange(bounds [3]value.Value, n int) (start, count, step int, ok bool) {
	step = 1
	if bounds[2].Kind() != value.None {
		step = clampInt(bounds[2], n+1)
		if step == 0 {
			r.raise("slice step cannot be zero")
			return 0, 0, 0, false
		}
	}
	end := func(v value.Value, fallback int) int {
		if v.Kind() == value.None {
			return fallback
		}
		return sliceEnd(v, n, step)
	}
	if step > 0 {
		start = end(bounds[0], 0)
		count = (end(bounds[1], n) - start + step - 1) / step
	} else {
		start = end(bounds[0], n-1)
		count = (start - end(bounds[1], -1) - step - 1) / -step
	}
	return start, max(0, count), step, true
}

// clampInt is an Int within limit on both sides.
func clampInt(v value.Value, limit int) int {
	i, ok := v.Int64()
	if !ok {
		if negative(v) {
			return -limit
		}
		return limit
	}
	return int(min(max(i, -int64(limit)), int64(limit)))
}

func (r *run) sliceString(s []byte, bounds [3]value.Value) value.Value {
	start, n, step, ok := r.sliceRange(bounds, runeCount(r, s))
	if !ok || n == 0 {
		return value.NewString(nil)
	}
	if step == 1 {
		s = s[offset(s, start):]
		return value.NewString(s[:offset(s, n)])
	}
	if !r.work(len(s) * 4) {
		return value.NewString(nil)
	}
	runes := []rune(string(s))
	from := len(r.out)
	for i := range n {
		r.out = append(r.out, string(runes[start+i*step])...)
	}
	return r.capture(from)
}
