package chattemplate

import "penstock/routing/chattemplate/value"

func (w *Worker) sglang(k Kind, body value.Value) Reason          { return ReasonEngine }
func (w *Worker) trtllm(k Kind, body value.Value) Reason          { return ReasonEngine }
func (w *Worker) sglangTools(t value.Value) (value.Value, Reason) { return t, ReasonEngine }
