package tokenizer

// Boundaries appends the offsets in text, ascending, at which it may be cut: for every
// offset b, and every m without PlainText, Append(text[:b], m|Unfinished) followed by
// Append(text[b:], m|Continuation) gives the ids of Append(text, m). They are the ends
// of those added tokens that are found before anything else is done to the text and
// that leave the text around them alone. A model in which special tokens are never
// found has none.
func (e *Encoder) Boundaries(dst []int, text []byte) []int {
	if e.model.plain {
		return dst
	}
	return e.model.added.Raw.Cuts(dst, text)
}
