package prefixindex

// frame is a part of the search put aside: runs that end between lo and hi. Its sets are
// on the lookup's stack, size words of it.
type frame struct{ lo, hi, size int }

// frameWords is what one word of ordinals takes on the stack: its number, and the runs
// of each level.
const frameWords = 1 + levels

// gallop finds where runs end that have block lo. Those that have the block looked at go
// on behind it, the others are put aside and end before it; a part that is down to two
// neighbouring blocks, of which one is there and the other is not, is an edge.
func (c *lookup) gallop(x *Index, keys []uint64, lo int) {
	hi, at := len(keys), len(keys)-1 // a prompt that came before is known to its end
	for {
		for hi-lo > 1 {
			switch went, stayed := c.split(x, keys[at]); {
			case !went:
				hi = at
				c.pop()
			case !stayed:
				lo = at
			default:
				f := &c.frames[len(c.frames)-1]
				f.lo, f.hi = lo, at
				lo = at
			}
			at = lo + (hi-lo)/2
		}
		for _, w := range c.active {
			for level := range levels {
				c.note(w, level, c.alive[w*levels+level], uint32(hi))
			}
		}
		if len(c.frames) == 0 {
			c.active = c.active[:0]
			return
		}
		lo, hi = c.pop()
		at = lo + (hi-lo)/2
	}
}

// split looks at one block: runs that have it stay alive, those that do not are put
// aside in a frame, if there are any.
func (c *lookup) split(x *Index, key uint64) (went, stayed bool) {
	f := x.locate(key)
	same, ok := c.load(&f, true)
	for !ok {
		f = x.locate(key)
		same, ok = c.load(&f, true)
	}
	if same {
		return true, false
	}
	kept, before := c.active[:0], len(c.stack)
	for _, w := range c.active {
		alive, set := c.alive[w*levels:w*levels+levels], c.set[w*levels:w*levels+levels]
		var aside [frameWords]uint64
		staying := uint64(0)
		c.wanted[w] = 0
		for level := range alive {
			aside[1+level] = alive[level] &^ set[level]
			staying |= aside[1+level]
			alive[level] &= set[level]
			c.wanted[w] |= alive[level]
		}
		if staying != 0 {
			aside[0] = uint64(w)
			c.stack = append(c.stack, aside[:]...)
		}
		if c.wanted[w] != 0 {
			kept = append(kept, w)
		}
	}
	c.active = kept
	if n := len(c.stack) - before; n > 0 {
		c.frames = append(c.frames, frame{size: n})
		stayed = true
	}
	return len(kept) > 0, stayed
}

// pop takes up the part of the search that was put aside last.
func (c *lookup) pop() (lo, hi int) {
	f := c.frames[len(c.frames)-1]
	c.frames = c.frames[:len(c.frames)-1]
	part := c.stack[len(c.stack)-f.size:]
	c.stack = c.stack[:len(c.stack)-f.size]
	c.active = c.active[:0]
	for ; len(part) > 0; part = part[frameWords:] {
		w := int(part[0])
		c.active = append(c.active, w)
		c.wanted[w] = 0
		for level, set := range part[1:frameWords] {
			c.alive[w*levels+level] = set
			c.wanted[w] |= set
		}
	}
	return f.lo, f.hi
}
