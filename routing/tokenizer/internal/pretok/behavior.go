package pretok

import (
	"bytes"
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/runeset"
	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/split"
)

// span is a part of a piece that matched a pattern, or one between two matches.
type span struct {
	start, end int
	match      bool
}

// add appends a piece; an empty one counts for nothing.
func (p *Pieces) add(piece []byte) {
	if len(piece) > 0 {
		p.Text = append(p.Text, piece...)
		p.Ends = append(p.Ends, len(p.Text))
	}
}

// addSpans appends what a behaviour makes of the spans of a piece: SplitDelimiterBehavior
// of tokenizer/normalizer.rs, of which every rule but Contiguous looks at neighbours.
func (p *Pieces) addSpans(piece []byte, spans []span, behavior string, first bool) {
	for i := 0; i < len(spans); i++ {
		s := spans[i]
		next := i+1 < len(spans)
		switch behavior {
		case "Removed":
			if s.match {
				p.start = p.start && !(first && i == 0)
				continue
			}
		case "MergedWithPrevious":
			if !s.match && next && spans[i+1].match {
				i++
				s.end = spans[i].end
			}
		case "MergedWithNext":
			if s.match && next && !spans[i+1].match {
				i++
				s.end = spans[i].end
			}
		case "Contiguous":
			for i+1 < len(spans) && spans[i+1].match == s.match {
				i++
				s.end = spans[i].end
			}
		}
		p.add(piece[s.start:s.end])
	}
}

// byCharacter is a step at characters, each a match of its own.
func byCharacter(has func(rune) bool, behavior string) step {
	return func(out, in *Pieces) {
		from := 0
		for i, end := range in.Ends {
			piece := in.Text[from:end]
			from = end
			spans, last := out.spans[:0], 0
			for at := 0; at < len(piece); {
				r, size := utf8.DecodeRune(piece[at:])
				if has(r) {
					if last < at {
						spans = append(spans, span{last, at, false})
					}
					last = at + size
					spans = append(spans, span{at, last, true})
				}
				at += size
			}
			if last < len(piece) {
				spans = append(spans, span{last, len(piece), false})
			}
			out.spans = spans
			out.addSpans(piece, spans, behavior, i == 0)
		}
	}
}

// byText is a step at a text.
func byText(pattern []byte, behavior string, invert bool) step {
	return func(out, in *Pieces) {
		from := 0
		for i, end := range in.Ends {
			piece := in.Text[from:end]
			from = end
			spans, last := out.spans[:0], 0
			for {
				at := bytes.Index(piece[last:], pattern)
				if at < 0 {
					break
				}
				if at > 0 {
					spans = append(spans, span{last, last + at, invert})
				}
				last += at + len(pattern)
				spans = append(spans, span{last - len(pattern), last, !invert})
			}
			if last < len(piece) {
				spans = append(spans, span{last, len(piece), invert})
			}
			out.spans = spans
			out.addSpans(piece, spans, behavior, i == 0)
		}
	}
}

// scan is a step that cuts as a family does; nothing of a piece is left out.
func scan(splitter split.Splitter) step {
	return func(out, in *Pieces) {
		out.Text = append(out.Text, in.Text...)
		from := 0
		for _, end := range in.Ends {
			piece := in.Text[from:end]
			for at := 0; at < len(piece); {
				n := splitter.Split(piece, at, out.ends[:])
				for _, cut := range out.ends[:n] {
					out.Ends = append(out.Ends, from+cut)
				}
				at = out.ends[n-1]
			}
			from = end
		}
	}
}

// words is the step Whitespace: runs of word characters, and of others but white space.
func words(out, in *Pieces) {
	from := 0
	for i, end := range in.Ends {
		piece := in.Text[from:end]
		from = end
		for at := 0; at < len(piece); {
			class, size := wordClass(piece[at:])
			stop := at + size
			for stop < len(piece) {
				next, size := wordClass(piece[stop:])
				if next != class {
					break
				}
				stop += size
			}
			if class != space {
				out.add(piece[at:stop])
			} else if i == 0 && at == 0 {
				out.start = false
			}
			at = stop
		}
	}
}

// The classes that words tells apart.
const (
	word = iota
	symbol
	space
)

func wordClass(text []byte) (class, size int) {
	r, size := utf8.DecodeRune(text)
	switch {
	case runeset.Word().Has(r):
		return word, size
	case runeset.Space().Has(r):
		return space, size
	}
	return symbol, size
}

// prefixSpace is the part of ByteLevel that makes every piece begin with a space.
func prefixSpace(out, in *Pieces) {
	from := 0
	for _, end := range in.Ends {
		if in.Text[from] != ' ' {
			out.Text = append(out.Text, ' ')
		}
		out.add(in.Text[from:end])
		from = end
	}
}

// metaspace is the step of SentencePiece models.
func metaspace(s *spec.PreTokenizer) step {
	mark := []byte(s.Replacement)
	return func(out, in *Pieces) {
		from := 0
		for i, end := range in.Ends {
			piece := in.Text[from:end]
			from = end
			start := len(out.Text)
			begins := piece[0] == ' ' || bytes.HasPrefix(piece, mark)
			if !begins && (s.Prepend == "always" || s.Prepend == "first" && i == 0 && in.start) {
				out.Text = append(out.Text, mark...)
			}
			for {
				at := bytes.IndexByte(piece, ' ')
				if at < 0 {
					break
				}
				out.Text = append(append(out.Text, piece[:at]...), mark...)
				piece = piece[at+1:]
			}
			out.Text = append(out.Text, piece...)
			if s.Split {
				out.cutBefore(start, mark)
			}
			out.Ends = append(out.Ends, len(out.Text))
		}
	}
}

// cutBefore cuts before every mark behind start.
func (p *Pieces) cutBefore(start int, mark []byte) {
	for at := start; ; {
		next := bytes.Index(p.Text[at:], mark)
		if next < 0 {
			return
		}
		if at+next > start {
			p.Ends = append(p.Ends, at+next)
		}
		at += next + len(mark)
	}
}

// fixedLength is a step that cuts after so many characters.
func fixedLength(length int) step {
	return func(out, in *Pieces) {
		out.Text = append(out.Text, in.Text...)
		from := 0
		for _, end := range in.Ends {
			count := 0
			for from < end {
				_, size := utf8.DecodeRune(in.Text[from:])
				from += size
				if count++; count%length == 0 && from < end {
					out.Ends = append(out.Ends, from)
				}
			}
			out.Ends = append(out.Ends, end)
		}
	}
}
