package jinja

import (
	"bytes"

	"penstock/routing/chattemplate/value"
)

// filterSpecs are Jinja's filters.
var filterSpecs = map[string]*filterSpec{
	"abs":            {call: filterAbs},
	"attr":           {params: []string{"name"}, required: 1, call: filterAttr},
	"batch":          {params: []string{"linecount", "fill_with"}, required: 1, call: filterBatch},
	"capitalize":     {call: softFilter(convertFilter(capitalize))},
	"center":         {params: []string{"width"}, call: softFilter(filterCenter)},
	"count":          {call: filterLength},
	"d":              {params: []string{"default_value", "boolean"}, call: filterDefault},
	"default":        {params: []string{"default_value", "boolean"}, call: filterDefault},
	"dictsort":       {params: []string{"case_sensitive", "by", "reverse"}, call: filterDictsort},
	"e":              {call: filterEscape},
	"escape":         {call: filterEscape},
	"filesizeformat": {params: []string{"binary"}, call: filterFileSize},
	"first":          {call: filterFirst},
	"float":          {params: []string{"default"}, call: filterFloat},
	"forceescape":    {call: filterForceEscape},
	"format":         {raw: filterFormat},
	"groupby":        {params: []string{"attribute", "default", "case_sensitive"}, required: 1, call: filterGroupby},
	"indent":         {params: []string{"width", "first", "blank"}, call: softFilter(filterIndent)},
	"int":            {params: []string{"default", "base"}, call: filterInt},
	"items":          {call: filterItems},
	"join":           {params: []string{"d", "attribute"}, call: filterJoin},
	"last":           {call: filterLast},
	"length":         {call: filterLength},
	"list":           {call: filterList},
	"lower":          {call: softFilter(convertFilter(lower))},
	"map":            {raw: filterMap},
	"max":            {params: []string{"case_sensitive", "attribute"}, call: extremeFilter(1)},
	"min":            {params: []string{"case_sensitive", "attribute"}, call: extremeFilter(-1)},
	"reject":         {raw: selectFilter(false, false)},
	"rejectattr":     {raw: selectFilter(false, true)},
	"replace":        {params: []string{"old", "new", "count"}, required: 2, call: filterReplace},
	"reverse":        {call: softFilter(filterReverse)},
	"round":          {params: []string{"precision", "method"}, call: filterRound},
	"safe":           {call: filterSafe},
	"select":         {raw: selectFilter(true, false)},
	"selectattr":     {raw: selectFilter(true, true)},
	"slice":          {params: []string{"slices", "fill_with"}, required: 1, call: filterSlice},
	"sort":           {params: []string{"reverse", "case_sensitive", "attribute"}, call: filterSort},
	"string":         {call: softFilter(filterString)},
	"striptags":      {call: filterStriptags},
	"sum":            {params: []string{"attribute", "start"}, call: filterSum},
	"title":          {call: convertFilter(wordTitle)},
	"tojson":         {params: []string{"ensure_ascii", "indent", "separators", "sort_keys"}, call: filterToJSON},
	"trim":           {params: []string{"chars"}, call: softFilter(filterTrim)},
	"truncate":       {params: []string{"length", "killwords", "end", "leeway"}, call: filterTruncate},
	"unique":         {params: []string{"case_sensitive", "attribute"}, call: filterUnique},
	"upper":          {call: softFilter(convertFilter(upper))},
	"urlencode":      {call: filterURLEncode},
	"wordcount":      {call: filterWordcount},
	"xmlattr":        {params: []string{"autospace"}, call: filterXMLAttr},
}

func convertFilter(convert func(dst, s []byte) []byte) func(*run, value.Value, []value.Value) value.Value {
	return func(r *run, v value.Value, _ []value.Value) value.Value { return r.convert(r.str(v), convert) }
}

func filterDefault(r *run, v value.Value, p []value.Value) value.Value {
	if v.Kind() != value.Undefined && (isMissing(p[1]) || !r.truth(p[1]) || r.truth(v)) {
		return v
	}
	if isMissing(p[0]) {
		return value.NewString(nil)
	}
	return p[0]
}

func filterString(r *run, v value.Value, _ []value.Value) value.Value {
	return value.NewString(r.str(v))
}

func filterLength(r *run, v value.Value, _ []value.Value) value.Value {
	n, ok := r.length(v)
	if !ok {
		return r.raise("%s has no length", typeName(v))
	}
	return r.m.NewInt(int64(n))
}

func filterTrim(r *run, v value.Value, p []value.Value) value.Value {
	return r.strip(r.str(v), p[0], true, true)
}

func filterReplace(r *run, v value.Value, p []value.Value) value.Value {
	count := int64(-1)
	if !isMissing(p[2]) && p[2].Kind() != value.None {
		n, ok := p[2].Int64()
		if !ok {
			return r.raise("count must be an int")
		}
		count = n
	}
	return r.replace(r.str(v), r.str(p[0]), r.str(p[1]), count)
}

func filterFirst(r *run, v value.Value, _ []value.Value) value.Value {
	it, ok := r.iterate(v)
	if !ok {
		return value.Value{}
	}
	item, _ := it.next(r)
	return item
}

func filterLast(r *run, v value.Value, _ []value.Value) value.Value {
	items, ok := r.reversible(v)
	if !ok || len(items) == 0 {
		return value.Value{}
	}
	return items[len(items)-1]
}

// reversible is the elements of what Python's reversed takes.
func (r *run) reversible(v value.Value) ([]value.Value, bool) {
	switch v.Kind() {
	case value.String, value.List, value.Dict:
		return r.elements(v), r.err == nil
	case value.Undefined:
		return nil, r.err == nil
	default:
	}
	switch v.Ext().(type) {
	case *dictView, *rangeValue:
		return r.elements(v), r.err == nil
	}
	r.raise("%s is not reversible", typeName(v))
	return nil, false
}

func filterReverse(r *run, v value.Value, _ []value.Value) value.Value {
	if v.Kind() == value.String {
		return r.sliceString(v.Bytes(), [3]value.Value{none, none, value.NewInt(-1)})
	}
	from := r.elements(v)
	items := r.copyValues(from)
	for i := range items {
		items[i] = from[len(from)-1-i]
	}
	if _, once := v.Ext().(*oneShot); once {
		return r.m.ListOf(items)
	}
	return r.generator(items, nil)
}

func filterList(r *run, v value.Value, _ []value.Value) value.Value {
	return r.m.ListOf(r.copyValues(r.elements(v)))
}

func filterItems(r *run, v value.Value, _ []value.Value) value.Value {
	switch v.Kind() {
	case value.Undefined:
		return r.generator(nil, nil)
	case value.Dict:
		view := r.m.NewOther(&dictView{v, overItems})
		return r.generator(r.elements(view), nil)
	default:
		return r.lazily(func() value.Value { return r.raise("can only get item pairs from a mapping") })
	}
}

// lazily runs what Python runs when a generator is first read: an error waits until
// then.
func (r *run) lazily(make func() value.Value) value.Value {
	if r.err != nil {
		return value.Value{}
	}
	start := len(r.out)
	make()
	return r.waiting(nil, start)
}

func filterJoin(r *run, v value.Value, p []value.Value) value.Value {
	it, ok := r.iterate(v)
	if !ok {
		return value.Value{}
	}
	var sep []byte
	if !isMissing(p[0]) {
		sep = r.str(p[0])
	}
	var parts []attrPart
	if !isMissing(p[1]) {
		parts = r.attrParts(p[1])
	}
	start := len(r.out)
	for i := 0; r.err == nil; i++ {
		item, ok := it.next(r)
		if !ok {
			break
		}
		item = r.follow(item, parts, missing)
		if i > 0 {
			r.out = append(r.out, sep...)
		}
		r.print(item)
		r.spend(1)
	}
	return r.capture(start)
}

func filterIndent(r *run, v value.Value, p []value.Value) value.Value {
	indent := []byte("    ")
	switch {
	case isMissing(p[0]):
	case p[0].Kind() == value.String:
		indent = p[0].Bytes()
	case p[0].Kind() != value.Int && p[0].Kind() != value.Bool:
		return r.raise("cannot indent by %s", typeName(p[0]))
	default:
		indent = r.repeat(value.NewString([]byte(" ")), p[0]).Bytes()
	}
	if v.Kind() != value.String {
		return r.raise("cannot indent %s", typeName(v))
	}
	first, blank := !isMissing(p[1]) && r.truth(p[1]), !isMissing(p[2]) && r.truth(p[2])
	if !r.work(len(v.Bytes())) {
		return value.Value{}
	}
	start := len(r.out)
	if first {
		r.out = append(r.out, indent...)
	}
	lines := splitLines(append(append([]byte(nil), v.Bytes()...), '\n'), false)
	for i, line := range lines {
		if i > 0 {
			r.out = append(r.out, '\n')
			if blank || len(line) > 0 {
				r.out = append(r.out, indent...)
			}
		}
		if r.out = append(r.out, line...); !r.spend(1) {
			break
		}
	}
	return r.capture(start)
}

func filterAttr(r *run, v value.Value, p []value.Value) value.Value {
	if p[0].Kind() != value.String {
		return r.raise("attribute name must be string, not %s", typeName(p[0]))
	}
	attr, ok := r.pythonAttr(v, r.attribute(string(p[0].Bytes())))
	if !ok {
		return value.Value{}
	}
	return attr
}

func filterCenter(r *run, v value.Value, p []value.Value) value.Value {
	width := p[0]
	if isMissing(width) {
		width = value.NewInt(80)
	}
	return padMethod(true, true)(r, value.NewString(r.str(v)), arguments{pos: []value.Value{width}})
}

func filterTruncate(r *run, v value.Value, p []value.Value) value.Value {
	length, leeway, end := value.NewInt(255), value.NewInt(5), value.NewString([]byte("..."))
	if !isMissing(p[0]) {
		length = p[0]
	}
	if !isMissing(p[2]) {
		end = p[2]
	}
	if !isMissing(p[3]) && p[3].Kind() != value.None {
		leeway = p[3]
	}
	ending, ok := r.length(end)
	if !ok || !isNumber(length.Kind()) || !isNumber(leeway.Kind()) {
		return r.raise("truncate takes numbers and an end")
	}
	size, ok := r.length(v)
	total := r.number('+', length, leeway)
	zero := value.NewInt(0)
	switch {
	case r.err != nil || value.CompareNumbers(length, value.NewInt(int64(ending))) < 0 || value.CompareNumbers(leeway, zero) < 0:
		return r.raise("cannot truncate to less than the end")
	case !ok:
		return r.raise("%s has no length", typeName(v))
	case value.CompareNumbers(value.NewInt(int64(size)), total) <= 0:
		return v
	case !v.IsText() || !end.IsText() || length.Kind() == value.Float:
		return r.unsupported("truncate of %s", typeName(v))
	}
	s := v.Bytes()
	s = s[:offset(s, clampInt(length, 1<<40)-ending)]
	if isMissing(p[1]) || !r.truth(p[1]) {
		if at := bytes.LastIndexByte(s, ' '); at >= 0 {
			s = s[:at]
		}
	}
	return r.sum(value.NewString(s), end)
}
