package jinja

import (
	"fmt"
	"time"

	"penstock/routing/chattemplate/value"
)

// Defaults of Limits.
const (
	defaultDepth  = 200
	defaultSteps  = 20_000_000
	defaultOutput = 64 << 20
)

// memoryPerOutput says how many bytes of intermediate values a rendering may make,
// as a multiple of the output allowed.
const memoryPerOutput = 4

// flow says how a statement ended.
type flow uint8

const (
	goOn flow = iota
	breakLoop
	continueLoop
	stop // the rendering failed
)

// expr evaluates to a value; emitter writes its text. Both note errors in run.err and
// go on with anything: who loops looks at run.err.
type (
	expr    func(r *run) value.Value
	emitter func(r *run)
	stmt    func(r *run) flow
)

// frame holds the variables of one call of a function.
type frame struct {
	slots []value.Value
	up    *frame
}

// run is one rendering.
type run struct {
	t       *Template
	m       *value.Memory
	fr      *frame
	globals []value.Value
	out     []byte
	err     error
	steps   int
	pause   int // steps left at the next check
	depth   int
	limits  Limits
	now     time.Time

	stack []value.Value // arguments being passed
	names []string      // of the keyword arguments among them
	texts [][]byte      // terms of the sums being worked out
	free  []*frame
	loops []*loopState // that no value refers to any more
	made  int          // of loops, how many this rendering uses
}

// fail notes the first error.
func (r *run) fail(sentinel error, format string, args ...any) value.Value {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(format, args...))
	}
	return value.Value{}
}

// raise notes an error that Python raises.
func (r *run) raise(format string, args ...any) value.Value {
	return r.fail(ErrRaised, format, args...)
}

func (r *run) unsupported(format string, args ...any) value.Value {
	return r.fail(ErrUnsupported, format, args...)
}

// spend counts steps and checks the sizes; it reports whether the rendering goes on.
func (r *run) spend(steps int) bool {
	r.steps -= steps
	if r.steps < r.pause || len(r.out) > r.limits.Output {
		r.overspent()
	}
	return r.err == nil
}

// pauseSteps is how many steps are between two checks of the memory and the time.
const pauseSteps = 4096

func (r *run) overspent() {
	if r.steps < 0 {
		r.fail(ErrLimit, "steps")
	}
	if r.steps < r.pause {
		r.pause = max(0, r.steps-pauseSteps)
		r.m.Check()
	}
	if len(r.out) > r.limits.Output {
		r.fail(ErrLimit, "output")
	}
}

// work counts the steps of handling n bytes and is spend otherwise.
func (r *run) work(n int) bool { return r.spend(1 + n>>4) }

// room reports whether n more bytes of values may be made, and counts them.
func (r *run) room(n int) bool {
	if n < 0 || n > r.limits.Output || r.m.Used()+n > memoryPerOutput*r.limits.Output {
		r.fail(ErrLimit, "memory")
		return false
	}
	return r.work(n)
}

// text is room for a text of n bytes, nil when that is over the limits.
func (r *run) text(n int) []byte {
	if !r.room(n) {
		return nil
	}
	return r.m.Text(n)
}

// capture makes a String of the output since start, and takes it back.
func (r *run) capture(start int) value.Value {
	t := r.text(len(r.out) - start)
	copy(t, r.out[start:])
	r.out = r.out[:start]
	return value.NewString(t)
}

// enter makes fn's frame current; leave goes back to the one it gives.
func (r *run) enter(fn *function, up *frame) (before *frame) {
	before = r.fr
	var f *frame
	if n := len(r.free); n > 0 {
		f = r.free[n-1]
		r.free = r.free[:n-1]
	} else {
		f = &frame{}
	}
	if cap(f.slots) < fn.slots {
		f.slots = make([]value.Value, fn.slots)
	}
	f.slots = f.slots[:fn.slots]
	clear(f.slots)
	f.up = up
	r.fr = f
	return before
}

func (r *run) leave(fn *function, before *frame) {
	if !fn.captured {
		r.free = append(r.free, r.fr)
	}
	r.fr = before
}

// descend counts one nested call; ascend ends it.
func (r *run) descend() bool {
	r.depth++
	if r.depth > r.limits.Depth {
		r.fail(ErrLimit, "depth")
	}
	return r.spend(1)
}

func (r *run) ascend() { r.depth-- }

// push saves arguments on the stack; args are valid until pop.
func (r *run) push(v value.Value) { r.stack = append(r.stack, v) }

func (r *run) pop(base int) {
	clear(r.stack[base:])
	r.stack = r.stack[:base]
}
