package jinja

import (
	"bytes"
	"slices"
	"strconv"

	"penstock/routing/chattemplate/value"
)

// attrPart is one step of an attribute path: a name, or the number of an element.
type attrPart struct{ key value.Value }

// attrParts reads a path such as "function.name" or "args.0".
func (r *run) attrParts(attr value.Value) []attrPart {
	switch {
	case isMissing(attr) || attr.Kind() == value.None:
		return nil
	case attr.Kind() != value.String:
		return []attrPart{{attr}}
	}
	var parts []attrPart
	for name := range bytes.SplitSeq(attr.Bytes(), []byte(".")) {
		key := value.NewString(name)
		if len(name) > 0 && bytes.IndexFunc(name, func(c rune) bool { return !isDigit(c) }) < 0 {
			n, err := strconv.ParseInt(string(name), 10, 64)
			if err != nil {
				r.unsupported("attribute %q", name)
			}
			key = value.NewInt(n)
		}
		parts = append(parts, attrPart{key})
	}
	return parts
}

// follow looks a path up; what is undefined on the way becomes fallback, unless that
// is missing.
func (r *run) follow(v value.Value, parts []attrPart, fallback value.Value) value.Value {
	for _, part := range parts {
		v = r.getitem(v, part.key)
		if v.Kind() == value.Undefined && !isMissing(fallback) && fallback.Kind() != value.None {
			v = fallback
		}
	}
	return v
}

// lowered is v in lower case, if it is a string and case does not matter.
func (r *run) lowered(v value.Value, sensitive bool) value.Value {
	if sensitive || v.Kind() != value.String {
		return v
	}
	return r.convert(v.Bytes(), lower)
}

// isTrue is an optional argument that is false when missing.
func (r *run) isTrue(v value.Value) bool { return !isMissing(v) && r.truth(v) }

// sorted sorts items by keys as Python does: stably, an error for what has no order.
func (r *run) sorted(items, keys []value.Value, reverse bool) []value.Value {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if !r.spend(1) {
			return 0
		}
		n, _ := r.order(keys[i], keys[j])
		if reverse {
			return -n
		}
		return n
	})
	out := r.copyValues(items)
	for i := range out {
		out[i] = items[order[i]]
	}
	return out
}

func filterSort(r *run, v value.Value, p []value.Value) value.Value {
	items := r.elements(v)
	var paths [][]attrPart
	if !isMissing(p[2]) && p[2].Kind() == value.String {
		for one := range bytes.SplitSeq(p[2].Bytes(), []byte(",")) {
			paths = append(paths, r.attrParts(value.NewString(one)))
		}
	} else {
		paths = [][]attrPart{r.attrParts(p[2])}
	}
	if !r.room(len(items) * valueSize * (1 + len(paths))) {
		return value.Value{}
	}
	keys := make([]value.Value, len(items))
	for i, item := range items {
		key := r.m.Values(len(paths))
		for j, path := range paths {
			key[j] = r.lowered(r.follow(item, path, missing), r.isTrue(p[1]))
		}
		keys[i] = r.m.ListOf(key)
	}
	return r.m.ListOf(r.sorted(items, keys, r.isTrue(p[0])))
}

func filterDictsort(r *run, v value.Value, p []value.Value) value.Value {
	by := 0
	switch {
	case isMissing(p[1]) || p[1].Kind() == value.String && string(p[1].Bytes()) == "key":
	case p[1].Kind() == value.String && string(p[1].Bytes()) == "value":
		by = 1
	default:
		return r.raise("you can only sort by either key or value")
	}
	if v.Kind() != value.Dict {
		return r.raise("%s has no items", typeName(v))
	}
	items := r.elements(r.m.NewOther(&dictView{v, overItems}))
	keys := make([]value.Value, len(items))
	for i, item := range items {
		keys[i] = r.lowered(item.Index(by), r.isTrue(p[0]))
	}
	return r.m.ListOf(r.sorted(items, keys, r.isTrue(p[2])))
}

// filterUnique tells equal elements apart by a dict.
func filterUnique(r *run, v value.Value, p []value.Value) value.Value {
	if r.err != nil {
		return value.Value{}
	}
	var kept []value.Value
	start := len(r.out)
	path, seen := r.attrParts(p[1]), r.m.NewDict(0)
	for _, item := range r.elements(v) {
		key := r.lowered(r.follow(item, path, missing), r.isTrue(p[0]))
		if !r.room(3*valueSize) || r.err != nil {
			break
		}
		before := seen.Len()
		if !r.m.SetValue(seen, key, none) {
			r.raise("unhashable type: %s", typeName(key))
			break
		}
		if seen.Len() > before {
			kept = append(kept, item)
		}
	}
	return r.waiting(kept, start)
}

// extremeFilter is min (-1) and max (1).
func extremeFilter(sign int) func(*run, value.Value, []value.Value) value.Value {
	return func(r *run, v value.Value, p []value.Value) (best value.Value) {
		var bestKey value.Value
		path := r.attrParts(p[1])
		for i, item := range r.elements(v) {
			key := r.lowered(r.follow(item, path, missing), r.isTrue(p[0]))
			if i > 0 {
				if n, _ := r.order(key, bestKey); n*sign <= 0 {
					continue
				}
			}
			best, bestKey = item, key
			if !r.spend(1) {
				break
			}
		}
		return best
	}
}

func filterSum(r *run, v value.Value, p []value.Value) value.Value {
	total := value.NewInt(0)
	if !isMissing(p[1]) {
		total = p[1]
	}
	if total.Kind() == value.String {
		return r.raise("sum() can't sum strings")
	}
	var path []attrPart
	if !isMissing(p[0]) {
		path = r.attrParts(p[0])
	}
	it, ok := r.iterate(v)
	for ok {
		var item value.Value
		if item, ok = it.next(r); ok {
			total = r.sum(total, r.follow(item, path, missing))
			ok = r.spend(1)
		}
	}
	return total
}

func filterGroupby(r *run, v value.Value, p []value.Value) value.Value {
	items, path, sensitive := r.elements(v), r.attrParts(p[0]), r.isTrue(p[2])
	keyOf := func(item value.Value) value.Value { return r.lowered(r.follow(item, path, p[1]), sensitive) }
	keys := make([]value.Value, len(items))
	for i, item := range items {
		keys[i] = keyOf(item)
	}
	items = r.sorted(items, keys, false)
	groups := r.m.NewList(0)
	for first := 0; first < len(items) && r.err == nil; {
		key, end := keyOf(items[first]), first+1
		for end < len(items) && r.equal(keyOf(items[end]), key) {
			end++
		}
		grouper := r.follow(items[first], path, p[1])
		group := r.pair(grouper, r.m.ListOf(r.copyValues(items[first:end])))
		group.SetExt(groupTag{})
		r.m.Add(groups, group)
		first = end
	}
	return groups
}

// filterBatch is read as it is needed in Python: an error waits until then.
func filterBatch(r *run, v value.Value, p []value.Value) value.Value {
	start := len(r.out)
	return r.waiting(r.batches(v, p), start)
}

func (r *run) batches(v value.Value, p []value.Value) []value.Value {
	size, ok := p[0].Int64()
	items := r.elements(v)
	if !ok && r.err == nil {
		r.unsupported("batches of %s", typeName(p[0]))
	}
	var batches []value.Value
	for len(items) > 0 && r.err == nil {
		n := len(items)
		if size > 0 {
			n = int(min(size, int64(n)))
		} else if len(batches) == 0 && size == 0 {
			r.unsupported("batches of nothing")
			return nil
		}
		batch := r.m.ListOf(r.copyValues(items[:n]))
		items = items[n:]
		for !isMissing(p[1]) && p[1].Kind() != value.None && int64(batch.Len()) < size && r.room(valueSize) {
			r.m.Add(batch, p[1])
		}
		batches = append(batches, batch)
	}
	return batches
}

func filterSlice(r *run, v value.Value, p []value.Value) value.Value {
	items := r.elements(v)
	count, ok := p[0].Int64()
	if r.err == nil && (!ok || count <= 0) {
		return r.unsupported("slices by %s", typeName(p[0]))
	}
	if r.err != nil || !r.room(int(min(count, 1<<40))*valueSize) {
		return r.waiting(nil, len(r.out))
	}
	each, extra := len(items)/int(count), len(items)%int(count)
	slices := r.m.Values(int(count))
	at := 0
	for i := range slices {
		n := each
		if i < extra {
			n++
		}
		slices[i] = r.m.ListOf(r.copyValues(items[at : at+n]))
		if i >= extra && !isMissing(p[1]) && p[1].Kind() != value.None {
			r.m.Add(slices[i], p[1])
		}
		at += n
	}
	return r.generator(slices, nil)
}
