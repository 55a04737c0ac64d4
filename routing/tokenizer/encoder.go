package tokenizer

import (
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/added"
	"penstock/routing/tokenizer/internal/bpe"
	"penstock/routing/tokenizer/internal/normalize"
	"penstock/routing/tokenizer/internal/pretok"
	"penstock/routing/tokenizer/internal/unigram"
)

// Mode says how a piece of text is encoded.
type Mode uint8

const (
	// AddSpecial adds what the model's post-processor adds (BOS, EOS). Prompts of
	// /v1/completions have it, rendered chat templates do not.
	AddSpecial Mode = 1 << iota
	// Continuation says that the text follows, in the same prompt, a boundary that
	// Encoder.Boundaries gave: nothing that only the start of a prompt gets is added.
	Continuation
	// PlainText keeps special tokens that were typed into the text as ordinary text.
	PlainText
	// Unfinished says that more of the same prompt follows, the text ending at a
	// boundary: nothing that only the end of a prompt gets is added.
	Unfinished
)

// Encoder encodes text with a Model. It is for one goroutine at a time; keep it in a
// pool. Warm, it allocates nothing.
type Encoder struct {
	// Expired, when set, is asked now and then during Append, which ends with
	// ErrExpired once it says true.
	Expired func() bool

	model      *Model
	bytes      *bpe.Worker
	characters *bpe.CharWorker
	unigram    *unigram.Worker

	normalized normalize.Scratch
	pieces     [2]pretok.Pieces
	ends       [batch]int
}

const (
	// batch is after how many pieces Expired is asked.
	batch = 256
	// kept is how many bytes a buffer may keep from one text to the next.
	kept = 8 << 20
)

// Append encodes text and appends the ids to dst. On an error dst comes back as it was.
func (e *Encoder) Append(dst []uint32, text []byte, m Mode) ([]uint32, error) {
	if !utf8.Valid(text) {
		return dst, ErrText
	}
	ids := dst
	frame := e.model.frame
	if m&AddSpecial != 0 && m&Continuation == 0 {
		ids = append(ids, frame.Before...)
	}
	if e.characters != nil {
		e.characters.Expired = e.Expired
	}
	ids, ok := e.raw(ids, text, m)
	e.normalized.Trim(kept)
	e.pieces[0].Trim(kept)
	e.pieces[1].Trim(kept)
	if !ok {
		return dst, ErrExpired
	}
	if m&AddSpecial != 0 && m&Unfinished == 0 {
		ids = append(ids, frame.After...)
	}
	return ids, nil
}

func (e *Encoder) expired() bool { return e.Expired != nil && e.Expired() }

// raw cuts out the added tokens that are looked for before normalising, and
// normalises and encodes what is between them.
func (e *Encoder) raw(dst []uint32, text []byte, m Mode) (ids []uint32, ok bool) {
	start := pretok.Begins
	if m&Continuation != 0 {
		start = pretok.Inside
	}
	plain := added.Plain(m&PlainText != 0 || e.model.plain)
	scan := e.model.added.Raw.Scan(text)
	done, matches := 0, 0
	for from := 0; ; matches++ {
		match, rest, found := scan.Next(from, done, plain)
		if !found {
			break
		}
		if matches%batch == batch-1 && e.expired() {
			return dst, false
		}
		if done < match.Start {
			if dst, ok = e.between(dst, text[done:match.Start], at(start, done), plain); !ok {
				return dst, false
			}
		}
		dst = appendMatch(dst, match)
		done, from = match.End, rest
	}
	return e.between(dst, text[done:], at(start, done), plain)
}

// appendMatch appends a token. One whose white space another took whole is gone.
func appendMatch(dst []uint32, match added.Match) []uint32 {
	if match.Start < match.End {
		return append(dst, match.Token.ID)
	}
	return dst
}

// at is start at the beginning of a text, and inside behind it.
func at(start pretok.Start, offset int) pretok.Start {
	if offset > 0 {
		return pretok.Inside
	}
	return start
}

// between normalises a text and cuts out the other added tokens.
func (e *Encoder) between(dst []uint32, text []byte, start pretok.Start, plain added.Plain) (ids []uint32, ok bool) {
	if len(text) == 0 {
		return dst, true
	}
	text = e.model.chain.Apply(&e.normalized, text)
	matcher := e.model.added.Normalized
	if matcher.Empty() {
		return e.cut(dst, text, start)
	}
	scan := matcher.Scan(text)
	done := 0
	for from := 0; ; {
		match, rest, found := scan.Next(from, done, plain)
		if !found {
			break
		}
		if done < match.Start {
			if dst, ok = e.cut(dst, text[done:match.Start], at(start, done)); !ok {
				return dst, false
			}
		}
		dst = appendMatch(dst, match)
		done, from = match.End, rest
	}
	return e.cut(dst, text[done:], at(start, done))
}

// cut cuts a normalised text into pieces and encodes them.
func (e *Encoder) cut(dst []uint32, text []byte, start pretok.Start) (ids []uint32, ok bool) {
	switch {
	case len(text) == 0:
		return dst, !e.expired()
	case e.model.chunks && len(text) > runLimit:
		return e.chunked(dst, text)
	case e.model.plan.Fused != nil:
		return e.fused(dst, text)
	case e.model.plan.Steps() == 0:
		e.ends[0] = len(text)
		return e.encode(dst, text, 0, e.ends[:1])
	}
	p := e.model.plan.Cut(&e.pieces[0], &e.pieces[1], text, start)
	from := 0
	for ends := p.Ends; len(ends) > 0; {
		n := min(len(ends), batch)
		if dst, ok = e.encode(dst, p.Text, from, ends[:n]); !ok {
			return dst, false
		}
		from, ends = ends[n-1], ends[n:]
	}
	return dst, true
}

// fused lets a scanner cut, a batch of pieces at a time.
func (e *Encoder) fused(dst []uint32, text []byte) (ids []uint32, ok bool) {
	splitter := e.model.plan.Fused
	for from := 0; from < len(text); {
		n := splitter.Split(text, from, e.ends[:])
		dst = e.bytes.Append(dst, text, from, e.ends[:n])
		from = e.ends[n-1]
		if e.expired() {
			return dst, false
		}
	}
	return dst, true
}

// encode encodes the pieces of text from from to each of ends.
func (e *Encoder) encode(dst []uint32, text []byte, from int, ends []int) (ids []uint32, ok bool) {
	if e.bytes != nil {
		return e.bytes.Append(dst, text, from, ends), !e.expired()
	}
	for _, end := range ends {
		piece := text[from:end]
		from = end
		switch {
		case e.characters != nil:
			if dst, ok = e.characters.Append(dst, piece); !ok {
				return dst, false
			}
		case e.unigram != nil:
			if dst, ok = e.unigram.Append(dst, piece, e.Expired); !ok {
				return dst, false
			}
		default:
			dst = e.model.wordPiece.Append(dst, piece)
		}
	}
	return dst, !e.expired()
}
