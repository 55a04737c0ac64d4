package split

import (
	"encoding/binary"

	"penstock/routing/tokenizer/internal/unidata"
)

// spaceRun is a run of white space.
type spaceRun struct {
	end     int // of the run
	last    int // start of its last character
	newline int // end of its last \r or \n; 0 if none
}

// spaces reads the run of white space that begins at i.
func (s *scanner) spaces(text []byte, i int) spaceRun {
	r := spaceRun{last: i}
	for i < len(text) {
		if text[i] == ' ' {
			for i+8 <= len(text) && binary.LittleEndian.Uint64(text[i:]) == spaces {
				i += 8
			}
			for i < len(text) && text[i] == ' ' {
				i++
			}
			r.last = i - 1
			continue
		}
		c := s.at(text, i)
		if !c.in(unidata.Space) {
			break
		}
		r.last = i
		i += c.size()
		if c.in(unidata.Newline) {
			r.newline = i
		}
	}
	r.end = i
	return r
}

// lines ends the piece of white space at i as \s*[\r\n]+|\s+(?!\S)|\s+ does: after
// the last line end of the run, or with the run where the text ends, or before its
// last character, which goes with what follows.
func (s *scanner) lines(text []byte, i int) int {
	r := s.spaces(text, i)
	if r.newline != 0 {
		return r.newline
	}
	return r.beforeLast(i, r.end == len(text))
}

// beforeLast ends the piece from i as \s+(?!\S)|\s+ does; final says that nothing
// follows the run.
func (r spaceRun) beforeLast(i int, final bool) int {
	if final || r.last == i {
		return r.end
	}
	return r.last
}
