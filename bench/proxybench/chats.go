package main

import (
	"encoding/json"

	"penstock/bench/trace"
)

// chatBody is chat number i of about n bytes of made-up prose: a system prompt of a
// quarter, then turns. Different chats share no text.
func chatBody(i, n int) []byte {
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
	add := func(role string, bytes int) {
		id := uint64(i*(turns+1) + len(chat.Messages))
		chat.Messages = append(chat.Messages, message{role, string(trace.AppendText(nil, id, bytes))})
	}
	add("system", n/4)
	for t := range turns {
		add([...]string{"user", "assistant"}[t%2], 3*n/4/turns)
	}
	body, err := json.Marshal(&chat)
	if err != nil {
		panic("BUG: cannot write a chat: " + err.Error())
	}
	return body
}
