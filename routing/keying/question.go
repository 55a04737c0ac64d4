package keying

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"penstock/configs"
	"penstock/routing/chattemplate"
)

// question is one way to ask an engine for the tokens of a prompt.
type question struct {
	path string
	body []byte
	only configs.Engine // kind of engine that understands it; "" both
}

// Paths of the engines. vLLM has the render routes from 0.18 on, newer versions only
// with --enable-scale-out; SGLang tokenizes prompts only.
const (
	pathTokenize          = "/tokenize"
	pathRenderChat        = "/v1/chat/completions/render"
	pathRenderCompletions = "/v1/completions/render"
	pathRenderResponses   = "/v1/responses/render"
	pathRenderMessages    = "/v1/messages/render"
)

// chatRoutes says which routes of the engines speak of the prompts of its chat API.
type chatRoutes struct {
	// tokenize: /tokenize renders chats as the chat API does. vLLM's does not for
	// gpt-oss, which it renders without the template.
	tokenize bool
}

// doubted are the reasons for which our own rendering may be wrong.
var doubted = map[Reason]bool{ReasonDegraded: true, ReasonUnproven: true}

// questionsOf lists the ways to ask about a request, best first. The bodies are
// copies. An engine renders chats itself where it has a route for that; our own
// rendering p is asked about after that, and only if nothing speaks against it (ours).
// Completions are the client's text whoever asks.
func questionsOf(q *Request, p *chattemplate.Prompt, chats chatRoutes, ours bool) []question {
	var out []question
	var text []byte
	client := q.Kind == chattemplate.KindCompletions || q.Kind == chattemplate.KindGenerate
	if p != nil && (ours || client) {
		text = textQuestion(p)
	}
	switch q.Kind {
	case chattemplate.KindChat:
		out = chatQuestions(q.Body, chats)
	case chattemplate.KindCompletions:
		if text == nil {
			out = []question{{pathRenderCompletions, bytes.Clone(q.Body), configs.EngineVLLM}}
		}
	case chattemplate.KindResponses:
		out = []question{{pathRenderResponses, bytes.Clone(q.Body), configs.EngineVLLM}}
	case chattemplate.KindMessages:
		out = []question{{pathRenderMessages, bytes.Clone(q.Body), configs.EngineVLLM}}
	case chattemplate.KindNone, chattemplate.KindGenerate, chattemplate.KindTokens:
	}
	if text != nil {
		out = append(out, question{path: pathTokenize, body: text})
	}
	return out
}

// textQuestion asks for the tokens of a rendered prompt; nil when it is not one
// stretch of text as /tokenize takes it.
func textQuestion(p *chattemplate.Prompt) []byte {
	if p.Status != chattemplate.Exact || p.Prompts > 1 || len(p.Parts) != 1 || p.Parts[0].PlainText || len(p.Parts[0].Text) == 0 {
		return nil
	}
	body, err := json.Marshal(struct {
		Prompt  string `json:"prompt"`
		Special bool   `json:"add_special_tokens"`
	}{string(p.Parts[0].Text), p.Parts[0].AddSpecial})
	if err != nil {
		return nil
	}
	return body
}

// tokenizeMembers are the members of a chat request that vLLM's /tokenize has too,
// by its TokenizeChatRequest.
var tokenizeMembers = map[string]bool{
	"model": true, "messages": true, "add_generation_prompt": true, "continue_final_message": true,
	"add_special_tokens": true, "chat_template": true, "chat_template_kwargs": true, "tools": true,
	"mm_processor_kwargs": true, "media_io_kwargs": true,
}

// renderMembers change the prompt of a chat and are unknown to /tokenize.
var renderMembers = map[string]bool{
	"reasoning_effort": true, "tool_choice": true, "documents": true, "response_format": true,
	"truncate_prompt_tokens": true, "functions": true, "function_call": true, "reasoning": true,
}

func chatQuestions(body []byte, chats chatRoutes) []question {
	all := append(make([]question, 0, 3), question{pathRenderChat, bytes.Clone(body), configs.EngineVLLM})
	if !chats.tokenize {
		return all
	}
	out := append(make([]byte, 0, len(body)+32), '{')
	special := false
	m := newMembers(body)
	for {
		one, ok := m.next()
		if !ok {
			break
		}
		switch name := string(one.name); {
		case renderMembers[name] && string(one.value) != "null":
			return all
		case tokenizeMembers[name]:
			special = special || name == "add_special_tokens"
			out = append(append(out, one.whole...), ',')
		}
	}
	if !special {
		out = append(out, `"add_special_tokens":false,`...)
	}
	out[len(out)-1] = '}'
	return append(all, question{pathTokenize, out, configs.EngineVLLM})
}

// errNoTokens is an answer that has none, or has them for something else.
var errNoTokens = errors.New("keying: no tokens in the answer")

// tokensIn reads the answer of any of the paths.
func tokensIn(body []byte) ([]uint32, error) {
	type answer struct {
		Tokens   []uint32        `json:"tokens"`
		TokenIDs []uint32        `json:"token_ids"`
		Features json.RawMessage `json:"features"`
	}
	var one answer
	if trimmed := bytes.TrimLeft(body, " \r\n\t"); len(trimmed) > 0 && trimmed[0] == '[' {
		var list []answer
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, fmt.Errorf("cannot read the engine's tokens: %w", err)
		}
		if len(list) != 1 {
			return nil, errNoTokens // several prompts
		}
		one = list[0]
	} else if err := json.Unmarshal(body, &one); err != nil {
		return nil, fmt.Errorf("cannot read the engine's tokens: %w", err)
	}
	if len(one.Features) > 0 && string(one.Features) != "null" {
		return nil, errNoTokens // images and sound are more than their tokens
	}
	if len(one.TokenIDs) > 0 {
		return one.TokenIDs, nil
	}
	if len(one.Tokens) == 0 {
		return nil, errNoTokens
	}
	return one.Tokens, nil
}
