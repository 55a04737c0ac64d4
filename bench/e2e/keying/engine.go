package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// client asks the engine, or the gateway before it.
type client struct {
	base string
	http http.Client
}

func newClient(base string) *client {
	return &client{base: base, http: http.Client{Timeout: 5 * time.Minute}}
}

// post sends a JSON body and decodes the answer.
func (c *client) post(ctx context.Context, path string, body []byte, into any) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := c.http.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return err
	}
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d: %.300s", path, a.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}

// tokenize asks for the ids of a chat.
func (c *client) tokenize(ctx context.Context, chat []byte) ([]uint32, error) {
	var answer struct {
		Tokens []uint32 `json:"tokens"`
	}
	err := c.post(ctx, "/tokenize", chat, &answer)
	return answer.Tokens, err
}

// render asks for what the engine would put to its scheduler.
func (c *client) render(ctx context.Context, chat []byte) ([]uint32, error) {
	var answer struct {
		TokenIDs []uint32 `json:"token_ids"`
	}
	err := c.post(ctx, "/v1/chat/completions/render", chat, &answer)
	return answer.TokenIDs, err
}

// promptTokens asks for an answer and returns its usage.
func (c *client) promptTokens(ctx context.Context, chat []byte) (int, error) {
	var answer struct {
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
		} `json:"usage"`
	}
	err := c.post(ctx, "/v1/chat/completions", chat, &answer)
	return answer.Usage.PromptTokens, err
}
