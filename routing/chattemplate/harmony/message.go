package harmony

import "bytes"

// Role of a message's author.
type Role uint8

// The roles.
const (
	User Role = iota
	Assistant
	System
	Developer
	Tool
)

// String is the role as headers write it.
func (r Role) String() string {
	switch r {
	case User:
		return "user"
	case Assistant:
		return "assistant"
	case System:
		return "system"
	case Developer:
		return "developer"
	default:
		return "tool"
	}
}

// Channel of an assistant's message.
type Channel uint8

// The channels.
const (
	NoChannel Channel = iota
	Analysis
	Commentary
	Final
)

// String is the channel as headers write it.
func (c Channel) String() string {
	switch c {
	case Analysis:
		return "analysis"
	case Commentary:
		return "commentary"
	case Final:
		return "final"
	default:
		return ""
	}
}

// Message is one message of a conversation. Its texts are views.
type Message struct {
	Role    Role
	Channel Channel
	// Function is the name of the function that an assistant calls with Text, or
	// whose result a Tool message is.
	Function []byte
	Call     bool // of an assistant: Text are the arguments of Function
	Text     []byte
	More     [][]byte // further contents, which are tokenized on their own
}

// Encoder writes a conversation.
type Encoder struct {
	Text []byte
	// Cuts are the places where the text must be taken apart to be tokenized piece by
	// piece; Plain tells of each piece that special tokens in it are text. There is one
	// more piece than there are cuts.
	Cuts  []int
	Plain []bool
	// open: text may not follow without a cut, since text came last
	open bool
}

// Reset forgets the conversation.
func (e *Encoder) Reset() {
	e.Text, e.Cuts, e.Plain, e.open = e.Text[:0], e.Cuts[:0], e.Plain[:0], false
}

// Conversation writes messages and the start of the assistant's answer. Analysis that
// was concluded by a final message is dropped, as vLLM's auto_drop_analysis_messages
// does.
func (e *Encoder) Conversation(messages []Message) {
	final := -1
	for i := range messages {
		if messages[i].Role == Assistant && messages[i].Channel == Final {
			final = i
		}
	}
	for i := range messages {
		if i >= final || messages[i].Channel != Analysis {
			e.message(&messages[i])
		}
	}
	e.special("<|start|>assistant")
	e.Plain = append(e.Plain, false)
}

func (e *Encoder) message(m *Message) {
	e.special("<|start|>")
	switch {
	case m.Role == Tool:
		e.special("functions.")
		e.Text = append(e.Text, m.Function...)
		e.special("<|channel|>commentary to=assistant<|message|>")
	case m.Call:
		e.special("assistant to=functions.")
		e.Text = append(e.Text, m.Function...)
		e.special("<|channel|>commentary json<|message|>")
	default:
		e.special(m.Role.String())
		if m.Channel != NoChannel {
			e.special("<|channel|>")
			e.special(m.Channel.String())
		}
		e.special("<|message|>")
	}
	e.plain(m.Text)
	for _, text := range m.More {
		e.plain(text)
	}
	if m.Call {
		e.special("<|call|>")
	} else {
		e.special("<|end|>")
	}
}

// special adds text of ours, special tokens and all.
func (e *Encoder) special(text string) {
	e.Text = append(e.Text, text...)
	e.open = false
}

// plain adds text of others. It lies between special tokens, so it is tokenized alike
// with what is around it, unless it could hold one itself or follows other text.
func (e *Encoder) plain(text []byte) {
	if len(text) == 0 {
		return
	}
	if bytes.Contains(text, []byte("<|")) {
		e.cut(false)
		e.Text = append(e.Text, text...)
		e.cut(true)
		return
	}
	if e.open {
		e.cut(false)
	}
	e.Text = append(e.Text, text...)
	e.open = true
}

// cut ends a piece here.
func (e *Encoder) cut(plain bool) {
	e.Cuts = append(e.Cuts, len(e.Text))
	e.Plain = append(e.Plain, plain)
	e.open = false
}
