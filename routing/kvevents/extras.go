package kvevents

import "bytes"

// readExtras says of each block whether its tokens and what it follows are all that it
// depends on. vLLM tells, in this order: the adapter's name, a pair of identifier and
// offset for each image or the like, the cache salt in the first block of a prompt, and
// digests of embeddings. Older ones wrote identifiers without the offset; newer ones may
// write ("lora", name) and ("cache_salt", salt).
func (b *Batch) readExtras(e *pending) {
	r := &e.extras
	if r.peek() != kindArray {
		return
	}
	from := len(b.extras)
	plain := true
	for i := range r.array() {
		extra := ExtraNone
		switch r.peek() {
		case kindNil:
			r.skip()
		case kindArray:
			for range r.array() {
				if !r.knownKey(e, i == 0 && !e.HasParent) {
					extra = ExtraOpaque
				}
			}
		default:
			r.skip()
			extra = ExtraOpaque
		}
		plain = plain && extra == ExtraNone
		b.extras = append(b.extras, extra)
	}
	if !plain {
		e.Extras = b.extras[from:len(b.extras):len(b.extras)]
	} else {
		b.extras = b.extras[:from]
	}
}

// knownKey reads one extra key and reports whether it is part of the namespace: the
// adapter or, at the root, the salt.
func (r *reader) knownKey(e *pending, root bool) bool {
	switch r.peek() {
	case kindString:
		return e.names(nil, r.bytes(), root)
	case kindArray:
		n := r.array()
		var tag, value []byte
		for i := range n {
			switch {
			case r.peek() != kindString || i > 1:
				r.skip()
			case i == 0:
				tag = r.bytes()
			default:
				value = r.bytes()
			}
		}
		return n == 2 && len(tag) > 0 && len(value) > 0 && e.names(tag, value, root)
	default:
		r.skip()
		return false
	}
}

// names takes a string that may name the adapter or the salt; tag says which, if told.
func (e *pending) names(tag, value []byte, root bool) bool {
	adapter := len(e.Adapter) > 0 && bytes.Equal(value, e.Adapter)
	switch string(tag) {
	case "":
		if adapter {
			return true
		}
	case "lora":
		return adapter
	case "cache_salt":
	default:
		return false
	}
	if !root || len(e.Salt) > 0 {
		return root && bytes.Equal(value, e.Salt)
	}
	e.Salt = value
	return true
}
