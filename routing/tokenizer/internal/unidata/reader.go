package unidata

// reader takes numbers off a generated file. The files are part of the program, so
// one that is cut short is a fault of the build.
type reader struct{ data string }

func (r *reader) byte() byte {
	if r.data == "" {
		panic("BUG: a table of unidata is cut short")
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// number is an unsigned LEB128 varint.
func (r *reader) number() int {
	n, shift := 0, 0
	for {
		b := r.byte()
		n |= int(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
		shift += 7
	}
}

// difference is a zigzag varint.
func (r *reader) difference() int {
	n := r.number()
	if n&1 != 0 {
		return -(n + 1) >> 1
	}
	return n >> 1
}
