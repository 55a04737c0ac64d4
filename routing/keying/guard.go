package keying

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// A request's panic is otherwise recovered in one place only, which answers it 500.
// Here it is recovered too, because keying reads what strangers wrote, model files and
// prompts, with a lot of code, and none of it may cost a request its answer or the
// gateway its life. It is counted and logged as the fault that it is; its value is not,
// because it may quote the text.

// panicLogEvery keeps a prompt that is sent again and again from filling the log.
const panicLogEvery = time.Minute

// guardKey is deferred around the keying of one prompt.
func (s *Source) guardKey(r *Result) {
	p := recover()
	if p == nil {
		return
	}
	r.Reset()
	r.Reason = ReasonPanic
	s.metrics.keyed(r, 0)
	now := s.now().UnixNano()
	if last := s.panicked.Load(); now-last < int64(panicLogEvery) || !s.panicked.CompareAndSwap(last, now) {
		return
	}
	s.log.Error("keying panicked; the prompt is routed by load", slog.String("pool", s.set.Name()),
		slog.String("panic", kindOf(p)), slog.String("stack", stack()))
}

// guarded runs f, which reads a model's files, and turns a panic into an error.
func (s *Source) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot read the model's files: fault in the gateway (%s)", kindOf(p))
			s.log.Error("loading a tokenizer panicked", slog.String("pool", s.set.Name()),
				slog.String("panic", kindOf(p)), slog.String("stack", stack()))
		}
	}()
	return f()
}

// kindOf is the type of a panic's value.
func kindOf(p any) string { return fmt.Sprintf("%T", p) }

// maxStack is enough for the frames that matter.
const maxStack = 4 << 10

func stack() string {
	s := debug.Stack()
	return string(s[:min(len(s), maxStack)])
}
