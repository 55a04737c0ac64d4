package deepseek

import (
	"penstock/routing/chattemplate/value"
)

// AppendV32 appends the prompt of a conversation for DeepSeek V3.2.
func (e *Encoder) AppendV32(dst []byte, conversation value.Value, o *Options) ([]byte, error) {
	items := conversation.Items()
	if len(items) == 0 {
		return dst, ErrRefused
	}
	e.messages = e.messages[:0]
	if o.Tools.Kind() == value.List && o.Tools.Len() > 0 {
		e.messages = append(e.messages, message{role: system, tools: o.Tools})
	}
	for _, m := range items {
		e.messages = append(e.messages, message{role: roleOf(m), from: m, tools: m.Get("tools"), reasoning: reasoningOf(m)})
	}
	messages := e.messages
	if o.Thinking && (o.DropThinking || messages[len(messages)-1].role == user) {
		if messages = dropThinking(messages, system, user, tool); len(messages) < len(e.messages) {
			return dst, ErrRefused // the engines still ask for as many as there were
		}
	}
	w := v32{Encoder: e, messages: messages, last: lastUser(messages), thinking: o.Thinking}
	dst = append(dst, bos...)
	var err error
	for i := range messages {
		if dst, err = w.message(dst, i); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// dropThinking removes, before the last user's message, the reasoning of assistants
// and all messages of roles that are not kept.
func dropThinking(messages []message, keep ...role) []message {
	last := lastUser(messages)
	kept := messages[:0]
	for i, m := range messages {
		always := i >= last
		for _, r := range keep {
			always = always || m.role == r
		}
		if !always && m.role != assistant {
			continue
		}
		if !always {
			m.reasoning = value.Value{}
		}
		kept = append(kept, m)
	}
	return kept
}

// v32 writes messages of V3.2.
type v32 struct {
	*Encoder
	messages []message
	last     int // of a user
	thinking bool
}

func (w *v32) message(dst []byte, i int) ([]byte, error) {
	m := &w.messages[i]
	content, err := text(m.from.Get("content"))
	if err != nil {
		return dst, err
	}
	switch m.role {
	case system:
		dst = append(dst, content...)
		return w.tools(dst, m), nil
	case developer:
		if len(content) == 0 {
			return dst, ErrRefused
		}
		dst = w.tools(append(dst, userTurn...), m)
		dst = append(append(dst, "\n\n# The user's message is: "...), content...)
		return w.turn(dst, i == w.last), nil
	case user:
		dst = append(append(dst, userTurn...), content...)
		return w.turn(dst, i == w.last), nil
	case tool:
		return w.result(dst, i, content)
	case assistant:
		return w.assistant(dst, i, content)
	default:
		return dst, ErrRefused
	}
}

func (w *v32) tools(dst []byte, m *message) []byte {
	if !m.tools.Truth() {
		return dst
	}
	dst = append(append(dst, "\n\n"...), tools32...)
	return append(w.appendSchemas(dst, m.tools), tools32End...)
}

// turn ends a user's turn.
func (w *v32) turn(dst []byte, last bool) []byte {
	return append(append(dst, answerTurn...), thought(last && w.thinking)...)
}

// result writes a tool's message: the n-th one after an assistant's belongs to its
// n-th call.
func (w *v32) result(dst []byte, i int, content []byte) ([]byte, error) {
	before := i - 1
	for before >= 0 && w.messages[before].role == tool {
		before--
	}
	if before < 0 {
		return dst, ErrUnusual // vLLM then looks at the last message
	}
	if w.messages[before].role != assistant {
		return dst, ErrRefused
	}
	order, calls := i-before, w.messages[before].from.Get("tool_calls").Len()
	if calls < order {
		return dst, ErrRefused
	}
	if order == 1 {
		dst = append(dst, "\n\n<function_results>"...)
	}
	dst = append(append(append(dst, "\n<result>"...), content...), "</result>"...)
	if order == calls {
		dst = append(dst, "\n</function_results>\n\n"...)
		dst = append(dst, thought(i >= w.last && w.thinking)...)
	}
	return dst, nil
}

func (w *v32) assistant(dst []byte, i int, content []byte) ([]byte, error) {
	m := &w.messages[i]
	calls := m.from.Get("tool_calls")
	if w.thinking && i > w.last {
		reasoning, err := text(m.reasoning)
		if err != nil {
			return dst, err
		}
		if len(reasoning) == 0 && calls.Len() == 0 {
			return dst, ErrRefused
		}
		dst = append(append(dst, reasoning...), thinkEnd...)
	}
	dst = append(dst, content...)
	if calls.Len() > 0 {
		dst = w.appendCalls(dst, calls, "function_calls")
	}
	return append(dst, eos...), nil
}
