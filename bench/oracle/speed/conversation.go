package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"penstock/bench/oracle"
	"penstock/routing/chattemplate"
	"penstock/routing/keys"
	"penstock/routing/tokenizer"
)

// A conversation grows turn by turn; keying turn n should cost its new text, and next
// to nothing for what was known.
const (
	turns      = 100
	turnBytes  = 4 << 10 // a question and its answer; 100 of them are about 100k tokens
	tailTurns  = 10      // the last turns are what is reported
	memoBytes  = 64 << 20
	knownLimit = time.Microsecond // per KiB of known text, beyond the new text's cost
)

// conversation is what was measured of one model, medians over the last turns.
type conversation struct {
	model  string
	none   string // why there is none
	tokens int
	known  int           // bytes of the prompt that were known
	turn   time.Duration // keying the next turn, rendering included
	fresh  time.Duration // rendering and tokenizing what is new in it, alone
	render time.Duration // of turn, the rendering
}

// perKiB is the cost of known text.
func (c *conversation) perKiB() time.Duration {
	return time.Duration(float64(c.turn-c.fresh) / (float64(c.known) / 1024))
}

// talk measures one model; rounds conversations, each of other text.
func talk(m oracle.Model, ours *tokenizer.Model, texts []text, rounds int) (conversation, error) {
	c := conversation{model: m.Name}
	renderer, err := rendererOf(m)
	if err != nil {
		c.none = err.Error()
		return c, nil //nolint:nilerr // told in the table
	}
	var turn, fresh, render []time.Duration
	for round := range rounds {
		t := talker{worker: renderer.NewWorker(), encoder: ours.NewEncoder(), model: ours}
		if err := t.begin(texts, round); err != nil {
			return c, err
		}
		for n := 1; n <= turns; n++ {
			if err := t.next(n); err != nil {
				c.none = err.Error()
				return c, nil //nolint:nilerr // as above
			}
			if n > turns-tailTurns {
				turn, fresh, render = append(turn, t.turn), append(fresh, t.fresh), append(render, t.render)
			}
		}
		c.tokens, c.known = t.keys.Tokens, t.keys.KnownBytes
	}
	c.turn, c.fresh, c.render = median(turn), median(fresh), median(render)
	return c, nil
}

func rendererOf(m oracle.Model) (*chattemplate.Renderer, error) {
	var files chattemplate.Sources
	for name, into := range map[string]*[]byte{
		"tokenizer_config.json": &files.TokenizerConfig, "chat_template.jinja": &files.ChatTemplate, "config.json": &files.ModelConfig,
	} {
		text, err := os.ReadFile(filepath.Join(m.Dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		*into = text
	}
	return chattemplate.New(files, chattemplate.Profile{Engine: chattemplate.EngineVLLM})
}

// talker is one conversation on its way.
type talker struct {
	model   *tokenizer.Model
	worker  *chattemplate.Worker
	encoder *tokenizer.Encoder
	keyer   *keys.Worker
	keys    keys.Keys
	ids     []uint32
	words   [][]byte

	turn, fresh, render time.Duration
}

func (t *talker) begin(texts []text, round int) error {
	k, err := keys.New(t.model, keys.Options{BlockSize: 16, MemoBytes: memoBytes, Secret: make([]byte, keys.SecretSize)})
	if err != nil {
		return err
	}
	t.keyer = k.NewWorker()
	for _, kind := range texts {
		for _, doc := range kind.unseen {
			for len(doc) > turnBytes/2 {
				t.words = append(t.words, doc[:turnBytes/2])
				doc = doc[turnBytes/2:]
			}
		}
	}
	// English and code before the rest, and other text in each round.
	start := round * 2 * turns % max(1, len(t.words)-2*turns-1)
	t.words = t.words[start:]
	if len(t.words) < 2*turns+1 {
		return errors.New("cannot talk: not enough text")
	}
	return nil
}

// body is the request of turn n: n questions, and the answers before the last.
func (t *talker) body(from, n int) []byte {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	chat := struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}{Model: "m"}
	for i := from; i < 2*n-1; i++ {
		role := [...]string{"user", "assistant"}[i%2]
		chat.Messages = append(chat.Messages, message{role, strings.ToValidUTF8(string(t.words[i]), "")})
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // as clients in other languages write it
	if err := e.Encode(&chat); err != nil {
		panic("BUG: cannot write a chat: " + err.Error())
	}
	return text.Bytes()
}

// next keys turn n, after the turn before, and beside it the new text alone.
func (t *talker) next(n int) error {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	body, alone := t.body(0, n), t.body(max(0, 2*n-3), n)
	start := threadCPU()
	p := t.worker.Render(&chattemplate.Request{Kind: chattemplate.KindChat, Body: body})
	t.render = threadCPU() - start
	if p.Status != chattemplate.Exact {
		return fmt.Errorf("not exact: %s", p.Reason)
	}
	if err := t.keyer.Key(p, 1, &t.keys); err != nil {
		return err
	}
	t.turn = threadCPU() - start

	// The same new text again, in a prompt of its own: an answer and a question. Its
	// words are in the encoder's cache by now as they are in the keyer's.
	start = threadCPU()
	p = t.worker.Render(&chattemplate.Request{Kind: chattemplate.KindChat, Body: alone})
	if p.Status != chattemplate.Exact {
		t.fresh = 0 // a template that wants a question first: all is counted as known
		return nil
	}
	var err error
	t.ids, err = keys.AppendIDs(t.ids[:0], t.encoder, p)
	t.fresh = threadCPU() - start
	return err
}

func conversations(results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### The next turn of a conversation\n\nTurns %d to %d of conversations that grow by %d KiB a turn, medians. Known: per KiB of text that the turn before had, beyond what rendering and tokenizing the new text alone takes; wanted at most %s.\n\n",
		turns-tailTurns+1, turns, turnBytes>>10, knownLimit)
	b.WriteString("| model | tokens | known KiB | turn, all | rendering of it | new text alone | known, per KiB | |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		c := r.talk
		if c.none != "" || c.model == "" {
			continue
		}
		word := "met"
		if c.perKiB() > knownLimit {
			word = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d µs | %d µs | %d µs | %.2f µs | %s |\n", c.model, c.tokens, c.known>>10,
			c.turn.Microseconds(), c.render.Microseconds(), c.fresh.Microseconds(), float64(c.perKiB().Nanoseconds())/1e3, word)
	}
	b.WriteString("\n")
	return b.String()
}
