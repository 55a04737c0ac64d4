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
// gateway its life. It is counted and logged as the fault that it is.

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
		slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
}

// guarded runs f, which reads a model's files, and turns a panic into an error.
func (s *Source) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot read the model's files: fault in the gateway: %v", p)
			s.log.Error("loading a tokenizer panicked", slog.String("pool", s.set.Name()),
				slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
		}
	}()
	return f()
}
