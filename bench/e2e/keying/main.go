package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"penstock/bench/trace"
	"penstock/routing/chattemplate"
	"penstock/routing/keys"
	"penstock/routing/tokenizer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "keying:", err)
		os.Exit(1)
	}
}

type options struct {
	engine, gateway, model, folder, trace string
	requests                              int
	tokenize                              bool
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("keying", flag.ContinueOnError)
	flags.StringVar(&o.engine, "engine", "", "base URL of the engine")
	flags.StringVar(&o.gateway, "gateway", "", "base URL of the gateway before it")
	flags.StringVar(&o.model, "model", "", "model name")
	flags.StringVar(&o.folder, "folder", "", "folder of the model, with its tokenizer")
	flags.StringVar(&o.trace, "trace", "", "text trace")
	flags.IntVar(&o.requests, "requests", 200, "how many requests")
	flags.BoolVar(&o.tokenize, "tokenize", true, "compare with /tokenize too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := newComparison(&o)
	if err != nil {
		return err
	}
	t, err := trace.Open(o.trace)
	if err != nil {
		return err
	}
	bodies, err := chats(t, o.model, o.requests)
	if err != nil {
		return err
	}
	failed, tokens := 0, 0
	for i, b := range bodies {
		n, err := c.compare(ctx, b)
		tokens += n
		if err != nil {
			failed++
			_, _ = fmt.Fprintf(stdout, "request %d: %v\n", i, err)
		}
	}
	_, _ = fmt.Fprintf(stdout, "%d prompt tokens compared\nkeying-%s: %d passed, %d failed\n", tokens, o.model, len(bodies)-failed, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d requests differ", failed, len(bodies))
	}
	return nil
}

// comparison holds both sides.
type comparison struct {
	engine, gateway *client
	model           *tokenizer.Model
	encoder         *tokenizer.Encoder
	worker          *chattemplate.Worker
	asks            map[string]func(context.Context, []byte) ([]uint32, error)
}

func newComparison(o *options) (*comparison, error) {
	model, err := tokenizer.Load(os.DirFS(o.folder), tokenizer.Options{})
	if err != nil {
		return nil, err
	}
	files := chattemplate.Sources{}
	for name, dst := range map[string]*[]byte{
		"tokenizer_config.json": &files.TokenizerConfig, "chat_template.jinja": &files.ChatTemplate, "config.json": &files.ModelConfig,
	} {
		*dst, err = os.ReadFile(filepath.Join(o.folder, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	renderer, err := chattemplate.New(files, chattemplate.Profile{})
	if err != nil {
		return nil, err
	}
	c := &comparison{engine: newClient(o.engine), gateway: newClient(o.gateway), model: model, encoder: model.NewEncoder(), worker: renderer.NewWorker()}
	c.asks = map[string]func(context.Context, []byte) ([]uint32, error){"render": c.engine.render}
	if o.tokenize {
		c.asks["/tokenize"] = c.engine.tokenize
	}
	return c, nil
}

// compare returns how many tokens our prompt has, and where it is not the engine's.
func (c *comparison) compare(ctx context.Context, body []byte) (int, error) {
	p := c.worker.Render(&chattemplate.Request{Kind: chattemplate.KindChat, Body: body, Now: time.Now()})
	if p.Status != chattemplate.Exact {
		return 0, fmt.Errorf("our prompt is not exact: %s", p.Reason)
	}
	ours, err := keys.AppendIDs(nil, c.encoder, p)
	if err != nil {
		return 0, err
	}
	for name, ask := range c.asks {
		theirs, err := ask(ctx, body)
		if err != nil {
			return len(ours), err
		}
		if !slices.Equal(ours, theirs) {
			return len(ours), c.difference(name, ours, theirs)
		}
	}
	used, err := c.gateway.promptTokens(ctx, body)
	if err == nil && used != len(ours) {
		err = fmt.Errorf("usage.prompt_tokens is %d, our count %d", used, len(ours))
	}
	return len(ours), err
}

// difference shows the first ids that differ, with their text.
func (c *comparison) difference(name string, ours, theirs []uint32) error {
	at := 0
	for at < len(ours) && at < len(theirs) && ours[at] == theirs[at] {
		at++
	}
	return fmt.Errorf("%s differs at token %d of %d (ours) and %d: %q, want %q", name, at, len(ours), len(theirs),
		c.text(ours, at), c.text(theirs, at))
}

func (c *comparison) text(ids []uint32, at int) []byte {
	var text []byte
	for _, id := range ids[max(0, at-3):min(len(ids), at+8)] {
		t, _, _ := c.model.TokenText(id)
		text = append(text, t...)
	}
	return text
}
