package jinja

import (
	"strings"

	"penstock/routing/chattemplate/value"
)

// attribute is a name after a dot, looked up in the tables of methods beforehand.
type attribute struct {
	name    string
	str     methodFunc
	dict    methodFunc
	list    methodFunc
	tuple   methodFunc
	hidden  bool // Python has it, and the sandbox forbids it
	changes bool // a method that changes lists
	updates bool // a method that changes dicts
	loop    loopField
}

// loopField is an attribute of the variable "loop".
type loopField uint8

const (
	noField loopField = iota
	loopIndex
	loopIndex0
	loopFirst
	loopLast
	loopLength
	loopRevindex
	loopRevindex0
	loopDepth
	loopDepth0
	loopPrevitem
	loopNextitem
)

var loopFields = map[string]loopField{
	"index": loopIndex, "index0": loopIndex0, "first": loopFirst, "last": loopLast, "length": loopLength,
	"revindex": loopRevindex, "revindex0": loopRevindex0, "depth": loopDepth, "depth0": loopDepth0,
	"previtem": loopPrevitem, "nextitem": loopNextitem,
}

// newAttribute looks a name up. Methods of the sort that only exist in Python are
// told apart from entries of dicts by the tables.
func (r *run) attribute(name string) *attribute { return newAttribute(name, r.t.tables) }

func newAttribute(name string, t *tables) *attribute {
	return &attribute{
		name: name, str: t.str[name], dict: t.dict[name], list: t.list[name], tuple: t.tuple[name],
		hidden:  strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__"),
		changes: listChanges[name], updates: dictUpdates[name], loop: loopFields[name],
	}
}

var (
	listChanges = map[string]bool{
		"append": true, "clear": true, "pop": true, "reverse": true, "insert": true, "sort": true, "extend": true, "remove": true,
	}
	dictUpdates = map[string]bool{"clear": true, "pop": true, "popitem": true, "setdefault": true, "update": true}
)

// getattr is "obj.name": the attribute, else the item.
func (r *run) getattr(obj value.Value, a *attribute) value.Value {
	switch obj.Kind() {
	case value.Dict:
		if a.dict == nil && !a.updates {
			if a.hidden {
				return value.Value{}
			}
			return obj.Get(a.name)
		}
	case value.Undefined:
		if undefinedAttrs[a.name] {
			return value.Value{}
		}
		return r.raise("attribute %q of undefined", a.name)
	case value.Other:
		switch x := obj.Ext().(type) {
		case *loopState:
			if a.loop != noField {
				return r.loopField(x, a.loop)
			}
		case *namespace:
			if !a.hidden {
				return x.attrs.Get(a.name)
			}
		}
	default:
	}
	v, _ := r.pythonAttr(obj, a)
	return v
}

// pythonAttr is Python's getattr through the sandbox; ok is false when there is none.
func (r *run) pythonAttr(obj value.Value, a *attribute) (v value.Value, ok bool) {
	if a.hidden {
		return v, true
	}
	switch obj.Kind() {
	case value.Undefined:
		return r.raise("attribute %q of undefined", a.name), true
	case value.Dict:
		if a.updates {
			return v, true
		}
		return r.bind(obj, a.name, a.dict)
	case value.String:
		return r.bind(obj, a.name, a.str)
	case value.List:
		if obj.IsTuple() {
			return r.tupleAttr(obj, a)
		}
		if a.changes {
			return v, true
		}
		return r.bind(obj, a.name, a.list)
	case value.Int, value.Float, value.Bool:
		if numberAttrs[a.name] {
			return r.unsupported("attribute %q of a number", a.name), true
		}
		return v, false
	case value.Other:
		return r.otherAttr(obj, a)
	default:
		return v, false
	}
}

// undefinedAttrs are the attributes that Jinja's Undefined has, all of which the
// sandbox forbids; any other raises.
var undefinedAttrs = wordSet(
	"__add__ __aiter__ __bool__ __call__ __class__ __complex__ __delattr__ __dir__ __div__ __doc__ __eq__ __float__ " +
		"__floordiv__ __format__ __ge__ __getattr__ __getattribute__ __getitem__ __getstate__ __gt__ __hash__ __init__ " +
		"__init_subclass__ __int__ __iter__ __le__ __len__ __lt__ __mod__ __module__ __mul__ __ne__ __neg__ __new__ __pos__ " +
		"__pow__ __radd__ __rdiv__ __reduce__ __reduce_ex__ __repr__ __rfloordiv__ __rmod__ __rmul__ __rpow__ __rsub__ " +
		"__rtruediv__ __setattr__ __sizeof__ __slots__ __str__ __sub__ __subclasshook__ __truediv__ " +
		"_fail_with_undefined_error _undefined_exception _undefined_hint _undefined_message _undefined_name _undefined_obj")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// numberAttrs are the attributes of Python's numbers.
var numberAttrs = map[string]bool{
	"real": true, "imag": true, "numerator": true, "denominator": true, "conjugate": true, "bit_length": true, "bit_count": true,
	"to_bytes": true, "from_bytes": true, "as_integer_ratio": true, "is_integer": true, "hex": true, "fromhex": true,
}

func (r *run) bind(obj value.Value, name string, f methodFunc) (value.Value, bool) {
	if f == nil {
		return value.Value{}, false
	}
	return r.m.NewOther(&method{obj, name, f}), true
}

func (r *run) tupleAttr(obj value.Value, a *attribute) (value.Value, bool) {
	if _, group := obj.Ext().(groupTag); group {
		switch a.name {
		case "grouper":
			return obj.Index(0), true
		case "list":
			return obj.Index(1), true
		}
	}
	return r.bind(obj, a.name, a.tuple)
}

// otherAttr is an attribute of a value of the engine.
func (r *run) otherAttr(obj value.Value, a *attribute) (v value.Value, ok bool) {
	switch x := obj.Ext().(type) {
	case *namespace:
		return x.attrs.Get(a.name), x.attrs.Has(a.name)
	case *loopState:
		return r.loopAttr(obj, x, a)
	case *macroValue:
		return r.macroAttr(x, a.name)
	case *rangeValue:
		switch a.name {
		case "start":
			return r.m.NewInt(x.start), true
		case "stop":
			return r.m.NewInt(x.stop), true
		case "step":
			return r.m.NewInt(x.step), true
		case "count":
			return r.bind(obj, a.name, listCount)
		case "index":
			return r.bind(obj, a.name, rangeIndex)
		}
	case *cycler:
		switch a.name {
		case "current":
			return x.items[x.at], true
		case "next", "reset":
			return r.bind(obj, a.name, cyclerMethod(a.name))
		}
	case *dictView, *oneShot, *method, *joiner:
		if r.t.tables.views[a.name] {
			return r.unsupported("attribute %q", a.name), true
		}
	}
	return v, false
}

func (r *run) macroAttr(x *macroValue, name string) (v value.Value, ok bool) {
	switch name {
	case "name":
		if x.code.name == "" {
			return none, true
		}
		return value.NewString([]byte(x.code.name)), true
	case "arguments":
		items := r.m.Values(len(x.code.params))
		for i, p := range x.code.params {
			items[i] = value.NewString([]byte(p))
		}
		return r.m.NewTuple(items), true
	case "catch_kwargs":
		return value.NewBool(x.code.kwargsSlot >= 0), true
	case "catch_varargs":
		return value.NewBool(x.code.varargsSlot >= 0), true
	case "caller":
		return value.NewBool(x.code.usesCaller), true
	}
	return v, false
}

// loopAttr is an attribute of the variable "loop".
func (r *run) loopAttr(obj value.Value, s *loopState, a *attribute) (v value.Value, ok bool) {
	switch {
	case a.loop != noField:
		return r.loopField(s, a.loop), true
	case a.name == "cycle" || a.name == "changed":
		return r.bind(obj, a.name, loopMethod(a.name))
	}
	return v, false
}

func (r *run) loopField(s *loopState, field loopField) value.Value {
	n := s.index0
	switch field {
	case loopFirst:
		return value.NewBool(n == 0)
	case loopLast:
		_, more := s.peek(r)
		return value.NewBool(!more)
	case loopPrevitem:
		if n == 0 {
			return value.Value{}
		}
		return s.before
	case loopNextitem:
		v, _ := s.peek(r)
		return v
	case loopIndex:
		n++
	case loopLength:
		n = s.total(r)
	case loopRevindex:
		n = s.total(r) - n
	case loopRevindex0:
		n = s.total(r) - n - 1
	case loopDepth:
		n = s.depth0 + 1
	case loopDepth0:
		n = s.depth0
	default:
	}
	return value.NewInt(int64(n))
}

// getitem is "obj[key]": the item, else the attribute.
func (r *run) getitem(obj, key value.Value) value.Value {
	if r.err != nil {
		return value.Value{}
	}
	switch obj.Kind() {
	case value.Dict:
		if key.Kind() == value.String {
			if i := obj.Find(key); i >= 0 {
				return obj.EntryValue(i)
			}
		} else if value.Hashable(key) {
			if i := obj.Find(key); i >= 0 {
				return obj.EntryValue(i)
			}
		}
	case value.List, value.String:
		if i, ok := key.Int64(); ok {
			return r.at(obj, i)
		}
	case value.Undefined:
		return r.raise("item of undefined")
	case value.Other:
		if rng, ok := obj.Ext().(*rangeValue); ok {
			if i, ok := key.Int64(); ok {
				return r.rangeAt(rng, i)
			}
		}
	default:
	}
	if key.Kind() != value.String {
		return value.Value{}
	}
	v, _ := r.pythonAttr(obj, r.attribute(string(key.Bytes())))
	return v
}

func (r *run) rangeAt(rng *rangeValue, i int64) value.Value {
	if i < 0 {
		i += int64(rng.length)
	}
	if i < 0 || i >= int64(rng.length) {
		return value.Value{}
	}
	return r.m.NewInt(rng.start + i*rng.step)
}

// at is element i of a list, or character i of a string; Undefined outside.
func (r *run) at(obj value.Value, i int64) value.Value {
	if obj.Kind() == value.List {
		if i < 0 {
			i += int64(obj.Len())
		}
		if i < 0 || i >= int64(obj.Len()) {
			return value.Value{}
		}
		return obj.Index(int(i))
	}
	return sameMarkup(obj, r.charAt(obj.Bytes(), i))
}
