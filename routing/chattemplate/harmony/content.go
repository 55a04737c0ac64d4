package harmony

import (
	"bytes"

	"penstock/routing/chattemplate/value"
)

// Preamble is what the system message says.
type Preamble struct {
	Effort       string // low, medium or high; "" is medium
	Date         string // of today, as 2006-01-02
	Functions    bool   // some developer message has tools
	Instructions []byte // where vLLM is told to put them here
	Instructed   bool
}

// AppendSystem appends the content of the system message.
func AppendSystem(dst []byte, p *Preamble) []byte {
	dst = append(dst, "You are ChatGPT, a large language model trained by OpenAI."...)
	if p.Instructed {
		dst = append(dst, '\n')
		dst = append(dst, p.Instructions...)
	}
	dst = append(dst, "\nKnowledge cutoff: 2024-06\nCurrent date: "...)
	dst = append(dst, p.Date...)
	dst = append(dst, "\n\nReasoning: "...)
	if p.Effort == "" {
		dst = append(dst, "medium"...)
	}
	dst = append(dst, p.Effort...)
	dst = append(dst, "\n\n# Valid channels: analysis, commentary, final. Channel must be included for every message."...)
	if p.Functions {
		dst = append(dst, "\nCalls to these tools must go to the commentary channel: 'functions'."...)
	}
	return dst
}

// Function is a tool. Its Parameters are a JSON schema, a Dict or None.
type Function struct {
	Name, Description []byte
	Parameters        value.Value
}

// AppendDeveloper appends the content of a developer's message: instructions, if there
// are any, and tools.
func AppendDeveloper(dst, instructions []byte, instructed Presence, tools []Function) ([]byte, error) {
	if instructed {
		dst = append(dst, "# Instructions\n\n"...)
		dst = append(dst, instructions...)
	}
	if len(tools) == 0 {
		return dst, nil
	}
	if instructed {
		dst = append(dst, "\n\n"...)
	}
	dst = append(dst, "# Tools\n\n## functions\n\nnamespace functions {\n\n"...)
	for i := range tools {
		var err error
		if dst, err = appendFunction(dst, &tools[i]); err != nil {
			return dst, err
		}
	}
	return append(dst, "} // namespace functions"...), nil
}

// Presence says whether something is there, be it empty.
type Presence bool

func appendFunction(dst []byte, f *Function) ([]byte, error) {
	dst = appendComments(dst, f.Description)
	dst = append(dst, "type "...)
	dst = append(dst, f.Name...)
	if f.Parameters.Kind() != value.Dict {
		return append(dst, " = () => any;\n\n"...), nil
	}
	dst = append(dst, " = (_: "...)
	t := typescript{dst: dst, limit: maxOutput}
	t.schema(f.Parameters, 0, 0)
	return append(t.dst, ") => any;\n\n"...), t.err
}

// appendComments appends the lines of a text as comments; lines end as Rust's
// str::lines has it.
func appendComments(dst, text []byte) []byte {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		dst = append(dst, "// "...)
		dst = append(dst, bytes.TrimSuffix(line, []byte("\r"))...)
		dst = append(dst, '\n')
		text = rest
	}
	return dst
}
