package main

import (
	"encoding/json"
	"fmt"

	"penstock/bench/trace"
)

// body is a chat request. Fields left out stay out, because that is not the same as null.
type body struct {
	Model     string           `json:"model"`
	Messages  []map[string]any `json:"messages"`
	Tools     []map[string]any `json:"tools,omitempty"`
	Kwargs    map[string]any   `json:"chat_template_kwargs,omitempty"`
	MaxTokens int              `json:"max_tokens"`
}

// maxText keeps prompts to what a tiny model answers in a moment.
const maxText = 40 << 10

// chats reshapes n requests of a trace, spread over it, so that all branches of a
// template are gone through many times.
func chats(t *trace.Trace, model string, n int) ([][]byte, error) {
	var usable []int
	for i := range t.Requests {
		size := 0
		for _, m := range t.Requests[i].Messages {
			size += len(m.Content)
		}
		if size > 0 && size <= maxText {
			usable = append(usable, i)
		}
	}
	if len(usable) < n {
		return nil, fmt.Errorf("cannot make %d requests: the trace has %d that fit", n, len(usable))
	}
	bodies := make([][]byte, n)
	for i := range bodies {
		r := &t.Requests[usable[i*len(usable)/n]]
		text, err := json.Marshal(reshape(r.Messages, model, i))
		if err != nil {
			return nil, err
		}
		bodies[i] = text
	}
	return bodies, nil
}

// reshape makes request number i of the messages of a trace.
func reshape(messages []trace.Message, model string, i int) *body {
	b := &body{Model: model, MaxTokens: 1}
	for _, m := range messages {
		b.Messages = append(b.Messages, map[string]any{"role": m.Role, "content": m.Content})
	}
	if i%4 != 3 {
		b.Tools = tools[:1+i%len(tools)]
		b.Messages = withCall(b.Messages, i)
	}
	if i%7 == 2 {
		last := b.Messages[len(b.Messages)-1]
		if text, is := last["content"].(string); is && last["role"] == "user" {
			last["content"] = []map[string]any{{"type": "text", "text": text}, {"type": "text", "text": "And 👩‍👩‍👧‍👦, ﬁn — 漢字かな交じり。"}}
		}
	}
	if i%5 == 1 {
		b.Kwargs = map[string]any{"enable_thinking": i%2 == 0, "thinking": i%2 == 1}
	}
	if b.Messages[0]["role"] != "system" && i%3 == 0 {
		system := map[string]any{"role": "system", "content": "You are careful.\n\n\tTabs,  spaces   and\r\nline ends stay."}
		b.Messages = append([]map[string]any{system}, b.Messages...)
	}
	return b
}

// withCall puts a tool call and its result before the last message, the arguments as a
// string, which is how clients send them.
func withCall(messages []map[string]any, i int) []map[string]any {
	last := messages[len(messages)-1]
	if last["role"] != "user" || i%2 == 0 {
		return messages
	}
	call := map[string]any{
		"id": fmt.Sprintf("call_%08x", i), "type": "function",
		"function": map[string]any{"name": "get_weather", "arguments": arguments[i/2%len(arguments)]},
	}
	content := any(nil)
	if i%3 == 0 {
		content = "Let me look it up."
	}
	return append(messages[:len(messages)-1:len(messages)-1],
		map[string]any{"role": "user", "content": "What is the weather like in Zürich & Genève?"},
		map[string]any{"role": "assistant", "content": content, "tool_calls": []any{call}},
		map[string]any{"role": "tool", "tool_call_id": call["id"], "content": `{"temp": 21.50, "unit": "°C", "note": "<fine> & \"dry\""}`},
		map[string]any{"role": "assistant", "content": "It is 21.5 °C."},
		last)
}

var arguments = []string{
	`{"location":"Zürich","unit":"celsius"}`,
	`{"unit": "celsius", "location": "São Paulo", "days": 3, "exact": 1.0, "big": 1e22, "none": null, "on": true}`,
	`{"nested":{"b":[1,2,{"z":"<&>"}],"a":"it's"},"location":""}`,
}

var tools = []map[string]any{
	{"type": "function", "function": map[string]any{
		"name": "get_weather", "description": "Weather at a place, in °C or °F; \"now\" or <later>.",
		"parameters": map[string]any{
			"type": "object", "required": []string{"location"},
			"properties": map[string]any{
				"location": map[string]any{"type": "string", "description": "City & country"},
				"unit":     map[string]any{"type": "string", "enum": []string{"celsius", "fahrenheit"}},
				"days":     map[string]any{"type": "integer", "minimum": 0, "maximum": uint64(18446744073709551615)},
				"exact":    map[string]any{"type": "number", "default": json.Number("1.0"), "multipleOf": json.Number("1e-3")},
			},
		},
	}},
	{"type": "function", "function": map[string]any{"name": "now"}},
	{"type": "function", "function": map[string]any{
		"name": "book", "strict": true, "description": "",
		"parameters": map[string]any{
			"type": "object", "additionalProperties": false,
			"properties": map[string]any{
				"who":  map[string]any{"anyOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "null"}}},
				"when": map[string]any{"type": []string{"string", "null"}, "format": "date-time"},
				"what": map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/item"}},
			},
			"$defs": map[string]any{"item": map[string]any{"type": "object", "properties": map[string]any{"名": map[string]any{"type": "string"}}}},
		},
	}},
}
