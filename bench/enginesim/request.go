package enginesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"penstock/bench/enginesim/tokens"
)

// apiRequest is the union of what the routes read from a body.
type apiRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	System              content         `json:"system"` // Anthropic
	Instructions        string          `json:"instructions"`
	Input               json.RawMessage `json:"input"`
	Prompt              json.RawMessage `json:"prompt"`
	Text                json.RawMessage `json:"text"`
	InputIDs            json.RawMessage `json:"input_ids"`
	TokenIDs            []uint32        `json:"token_ids"`
	PromptTokenIDs      []uint32        `json:"prompt_token_ids"`
	Tools               json.RawMessage `json:"tools"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MaxOutputTokens     *int            `json:"max_output_tokens"`
	MinTokens           int             `json:"min_tokens"`
	N                   *int            `json:"n"`
	Seed                *int64          `json:"seed"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	Stop                json.RawMessage `json:"stop"`
	Priority            *float64        `json:"priority"`
	CacheSalt           *string         `json:"cache_salt"`
	LoraPath            string          `json:"lora_path"`
	RequestID           string          `json:"request_id"`
	RID                 string          `json:"rid"`
	ReturnTokenIDs      bool            `json:"return_token_ids"`
	AddGenerationPrompt *bool           `json:"add_generation_prompt"`
	KVTransferParams    *struct {
		PromptTokenIDs []uint32 `json:"prompt_token_ids"`
	} `json:"kv_transfer_params"`
	SamplingParams     *samplingParams `json:"sampling_params"`
	RoutedDPRank       *int            `json:"routed_dp_rank"`
	PreviousResponseID string          `json:"previous_response_id"`
	Background         bool            `json:"background"`
	Store              *bool           `json:"store"`
	Query              json.RawMessage `json:"query"`
	Documents          json.RawMessage `json:"documents"`
	Items              json.RawMessage `json:"items"`
	Text1              json.RawMessage `json:"text_1"`
	Text2              json.RawMessage `json:"text_2"`
	TopN               int             `json:"top_n"`
	Dimensions         int             `json:"dimensions"`
	Tokens             []uint32        `json:"tokens"`
}

type streamOptions struct {
	IncludeUsage    bool `json:"include_usage"`
	ContinuousUsage bool `json:"continuous_usage_stats"`
}

// samplingParams is the nested form of /generate and /inference/v1/generate.
type samplingParams struct {
	MaxTokens    *int            `json:"max_tokens"`
	MaxNewTokens *int            `json:"max_new_tokens"`
	MinTokens    int             `json:"min_tokens"`
	N            *int            `json:"n"`
	Seed         *int64          `json:"seed"`
	IgnoreEOS    bool            `json:"ignore_eos"`
	Stop         json.RawMessage `json:"stop"`
}

type chatMessage struct {
	Role      string          `json:"role"`
	Content   content         `json:"content"`
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// content is a string or a list of parts.
type content struct {
	text  string
	parts []contentPart
}

type contentPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ImageURL json.RawMessage `json:"image_url"`
	Source   json.RawMessage `json:"source"` // Anthropic
}

// UnmarshalJSON accepts a string, null or a list of parts.
func (c *content) UnmarshalJSON(data []byte) error {
	switch {
	case len(data) > 0 && data[0] == '"':
		return json.Unmarshal(data, &c.text)
	case len(data) > 0 && data[0] == '[':
		return json.Unmarshal(data, &c.parts)
	case bytes.Equal(data, []byte("null")):
		return nil
	}
	return errors.New("content must be a string or a list of parts")
}

// imageTokens is what one picture takes of a prompt.
const imageTokens = 64

func (c *content) encode(dst []uint32) []uint32 {
	dst = tokens.Encode(dst, c.text)
	for i := range c.parts {
		p := &c.parts[i]
		picture := p.ImageURL
		if picture == nil {
			picture = p.Source
		}
		if picture == nil {
			dst = tokens.Encode(dst, p.Text)
			continue
		}
		// A picture is a run of placeholders that differ with its address, as
		// the hash of its bytes makes blocks differ in an engine.
		id := tokens.Encode(nil, string(picture))
		dst = append(dst, tokens.Image)
		for k := 1; k < imageTokens; k++ {
			dst = append(dst, id[k%len(id)])
		}
	}
	return dst
}

func role(name string) uint32 {
	switch name {
	case "system", "developer":
		return tokens.System
	case "user":
		return tokens.User
	case "assistant":
		return tokens.Assistant
	case "tool":
		return tokens.Tool
	}
	return tokens.Other
}

// chatTokens is the pretend chat template: a role token, the content, an end
// token per message; tools in front; the assistant's role token at the end.
func (q *apiRequest) chatTokens() []uint32 {
	if q.KVTransferParams != nil && q.KVTransferParams.PromptTokenIDs != nil {
		return q.KVTransferParams.PromptTokenIDs
	}
	if q.PromptTokenIDs != nil {
		return q.PromptTokenIDs
	}
	var ids []uint32
	if len(q.Tools) > 0 && !isNull(q.Tools) {
		ids = append(tokens.Encode(append(ids, tokens.System), string(q.Tools)), tokens.EndOfTurn)
	}
	if q.System.text != "" || q.System.parts != nil {
		ids = append(q.System.encode(append(ids, tokens.System)), tokens.EndOfTurn)
	}
	for i := range q.Messages {
		m := &q.Messages[i]
		ids = m.Content.encode(append(ids, role(m.Role)))
		if len(m.ToolCalls) > 0 && !isNull(m.ToolCalls) {
			ids = tokens.Encode(ids, string(m.ToolCalls))
		}
		ids = append(ids, tokens.EndOfTurn)
	}
	if q.AddGenerationPrompt == nil || *q.AddGenerationPrompt {
		ids = append(ids, tokens.Assistant)
	}
	return ids
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

// promptList reads a prompt: text, ids, or a list of either.
func promptList(param string, raw json.RawMessage) ([][]uint32, error) {
	bad := schemaError(param, "Input should be a valid string, list of strings, list of token ids or list of lists of token ids")
	if isNull(raw) {
		return nil, schemaError(param, "Field required")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return [][]uint32{tokens.Encode(nil, text)}, nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil || len(items) == 0 {
		return nil, bad
	}
	var ids []uint32
	if json.Unmarshal(raw, &ids) == nil {
		return [][]uint32{ids}, nil
	}
	prompts := make([][]uint32, 0, len(items))
	for _, item := range items {
		var ids []uint32
		switch {
		case json.Unmarshal(item, &text) == nil && item[0] == '"':
			prompts = append(prompts, tokens.Encode(nil, text))
		case json.Unmarshal(item, &ids) == nil && ids != nil:
			prompts = append(prompts, ids)
		default:
			return nil, bad
		}
	}
	return prompts, nil
}

// textList reads a string or a list of strings; anything else is kept as JSON text.
func textList(raw json.RawMessage) []string {
	if isNull(raw) {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []string{text}
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return []string{string(raw)}
	}
	out := make([]string, 0, len(items))
	for _, item := range items {
		if json.Unmarshal(item, &text) != nil {
			text = string(item)
		}
		out = append(out, text)
	}
	return out
}

// parse decodes the body of x, with the errors that a schema check gives.
func parse(body []byte) (*apiRequest, error) {
	q := new(apiRequest)
	err := json.Unmarshal(body, q)
	if err == nil {
		return q, nil
	}
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) && typed.Field != "" {
		return nil, schemaError(typed.Field, "1 validation error: {'type': 'type_error', 'loc': ('body', '%s'), 'msg': 'Input should be a valid %s'}",
			strings.ReplaceAll(typed.Field, ".", "', '"), typed.Type)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, schemaError("", "1 validation error: {'type': 'json_invalid', 'loc': ('body', %d), 'msg': 'JSON decode error'}", syntax.Offset)
	}
	return nil, schemaError("", "1 validation error: {'type': 'value_error', 'loc': ('body',), 'msg': '%v'}", err)
}

// priority is the engine's order, lower first, from the dialect's convention.
func (q *apiRequest) priority(d Dialect) int {
	if q.Priority == nil || math.IsNaN(*q.Priority) {
		return 0
	}
	switch d {
	case SGLang: // higher first
		return -int(*q.Priority)
	case TRTLLM: // 0..1, higher first
		return -int(*q.Priority * 1000)
	case VLLM:
	}
	return int(*q.Priority)
}
