package main

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"

	"penstock/bench/oracle/corpus"
	"penstock/bench/trace"
)

// prose is what chats are made of: real English and code where the oracle's texts are
// set up, for made-up words are dear to tokenize; else the made-up.
func prose(tokenizer string) []byte {
	sources := corpus.Sources{Packages: filepath.Join(tokenizer, "..", "..", "sources"), Go: runtime.GOROOT()} //nolint:staticcheck // go run starts this
	var text []byte
	for _, kind := range []corpus.Kind{corpus.English, corpus.Code} {
		part, err := sources.Text(kind)
		if err != nil {
			return trace.AppendText(nil, 1, 1<<20)
		}
		text = append(text, part...)
	}
	return text
}

// chatBody is chat number i of about n bytes of prose: a system prompt of a quarter,
// then turns. Different chats share no text as long as there is enough.
func chatBody(prose []byte, i, n int) []byte {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	const turns = 9 // the last by the user
	chat := struct {
		Model     string    `json:"model"`
		MaxTokens int       `json:"max_tokens"`
		Messages  []message `json:"messages"`
	}{Model: "m", MaxTokens: 200}
	at := i * n % max(1, len(prose)-n)
	add := func(role string, bytes int) {
		chat.Messages = append(chat.Messages, message{role, strings.ToValidUTF8(string(prose[at:at+bytes]), "")})
		at += bytes
	}
	add("system", n/4)
	for t := range turns {
		add([...]string{"user", "assistant"}[t%2], 3*n/4/turns)
	}
	var body strings.Builder
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(&chat); err != nil {
		panic("BUG: cannot write a chat: " + err.Error())
	}
	// wrk's long brackets end at ]==], which no text here has but a Lua file might.
	return []byte(strings.ReplaceAll(body.String(), "]==]", "]= =]"))
}
