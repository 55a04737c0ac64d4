package scan

// Edit replaces a span of the body by Text. An empty span inserts, an empty Text cuts.
type Edit struct {
	Span
	Text []byte
}

// Apply appends body with the edits made to dst and returns it. It sorts edits in
// place; edits at one offset keep their order, insertions before cuts. Edits that
// overlap or leave the body are a programming error and panic.
func Apply(dst, body []byte, edits []Edit) []byte {
	sortEdits(edits)
	at := 0
	for i := range edits {
		e := &edits[i]
		if e.Start < at || e.End < e.Start || e.End > len(body) {
			panic("BUG: scan: edits overlap or leave the body")
		}
		dst = append(dst, body[at:e.Start]...)
		dst = append(dst, e.Text...)
		at = e.End
	}
	return append(dst, body[at:]...)
}

// sortEdits is an insertion sort: edits are few and nearly sorted.
func sortEdits(edits []Edit) {
	for i := 1; i < len(edits); i++ {
		for j := i; j > 0 && before(&edits[j], &edits[j-1]); j-- {
			edits[j], edits[j-1] = edits[j-1], edits[j]
		}
	}
}

func before(a, b *Edit) bool {
	if a.Start != b.Start {
		return a.Start < b.Start
	}
	return a.Start == a.End && b.Start != b.End
}
