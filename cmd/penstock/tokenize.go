package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"penstock/configs"
	"penstock/proxy/scan"
	"penstock/routing/chattemplate"
	"penstock/routing/keying"
	"penstock/routing/keys"
	"penstock/routing/tokenizer"
)

const tokenizeUsage = `usage: penstock tokenize --tokenizer PATH [flags] < text
       penstock tokenize --tokenizer PATH --api chat [flags] < request.json

Prints the token ids of what it reads, separated by spaces, on one line: for
checking that the gateway counts as an engine does. The text is taken byte for
byte, a last line break included. Exit code 0: done; 1: it could not be done;
2: wrong usage.

  --tokenizer PATH  folder with tokenizer.json, as a pool's tokenizer.path
  --api NAME        read the JSON body of a request and make its prompt: chat,
                    completions, responses or messages
  --chat            the same as --api chat
  --special on|off  for text: whether the tokenizer's own BOS and EOS are added;
                    default on, as for /v1/completions. Requests say it themselves
  --unicode 16|14   character classes of the engine's image; default 16
  --engine NAME     whose prompts are made: vllm (default) or sglang
  --engine-version V
  --template FILE   chat template instead of the model's own
  --kwargs JSON     default_template_kwargs
  --timezone NAME   of the engine, for prompts with the date; default UTC
  --content-format auto|string|parts
  --tool-projection auto|vllm|sglang|as_sent
  --mode auto|hf|mistral|deepseek_v32|deepseek_v4|other
  --tool-call-parser NAME
  --reasoning-parser NAME
  --harmony-date YYYY-MM-DD
                    as the pool's keys of these names
  --count           print the number of ids instead
  --json            print one object: ids, count, and what was used
`

// maxTokenizeInput is far above any prompt.
const maxTokenizeInput = 256 << 20

// tokenizeCall is one call of `penstock tokenize`.
type tokenizeCall struct {
	cfg                 configs.Tokenizer
	engine              string
	special             string
	unicode             string
	kwargs              string
	api                 string // "" text
	chat, count, asJSON bool
	stdin               io.Reader
	stdout, stderr      io.Writer
	now                 func() time.Time
}

// tokenizeResult is the stable output of `tokenize --json`.
type tokenizeResult struct {
	Count      int      `json:"count"`
	IDs        []uint32 `json:"ids"`
	Status     string   `json:"status"` // exact, approximate
	Reason     string   `json:"reason,omitempty"`
	Kind       string   `json:"kind"`
	Family     string   `json:"family"`
	Vocabulary int      `json:"vocabulary"`
	Digest     string   `json:"digest"`
}

// runTokenize is the subcommand `tokenize`.
func runTokenize(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := tokenizeCall{cfg: configs.DefaultTokenizer(), stdin: stdin, stdout: stdout, stderr: stderr, now: time.Now}
	err := c.parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return printed(stdout, tokenizeUsage)
	case err != nil:
		fmt.Fprintf(stderr, "penstock tokenize: %s\n%s", err, tokenizeUsage)
		return exitUsage
	}
	if err := c.run(); err != nil {
		fmt.Fprintf(stderr, "penstock tokenize: %s\n", err)
		return exitFailed
	}
	return exitDone
}

func (c *tokenizeCall) parse(args []string) error {
	flags := flag.NewFlagSet("tokenize", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.cfg.Path, "tokenizer", "", "")
	flags.StringVar(&c.cfg.ChatTemplate, "template", "", "")
	flags.StringVar(&c.cfg.Timezone, "timezone", c.cfg.Timezone, "")
	flags.StringVar(&c.cfg.EngineVersion, "engine-version", "", "")
	flags.StringVar(&c.engine, "engine", string(configs.EngineVLLM), "")
	flags.StringVar(&c.special, "special", "on", "")
	flags.StringVar(&c.unicode, "unicode", "16", "")
	flags.StringVar(&c.kwargs, "kwargs", "", "")
	flags.StringVar(&c.api, "api", "", "")
	flags.BoolVar(&c.chat, "chat", false, "")
	c.profileFlags(flags)
	flags.BoolVar(&c.count, "count", false, "")
	flags.BoolVar(&c.asJSON, "json", false, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if c.chat && c.api == "" {
		c.api = "chat"
	}
	c.cfg.TemplateKwargs = configs.Object(c.kwargs)
	c.cfg.Unicode = map[string]int{"16": 16, "14": 14}[c.unicode]
	_, zone := time.LoadLocation(c.cfg.Timezone)
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case c.cfg.Path == "":
		return errors.New("--tokenizer PATH is needed")
	case c.cfg.Unicode == 0:
		return fmt.Errorf("--unicode %q is neither 16 nor 14", c.unicode)
	case c.special != "on" && c.special != "off":
		return fmt.Errorf("--special %q is neither on nor off", c.special)
	case c.engine != string(configs.EngineVLLM) && c.engine != string(configs.EngineSGLang):
		return fmt.Errorf("--engine %q is neither vllm nor sglang", c.engine)
	case zone != nil:
		return fmt.Errorf("--timezone %q is not known", c.cfg.Timezone)
	}
	return c.checkProfile()
}

func (c *tokenizeCall) run() error {
	model, err := keying.Load(c.cfg.Path, c.cfg.Unicode)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(c.stdin, maxTokenizeInput+1))
	switch {
	case err != nil:
		return fmt.Errorf("cannot read standard input: %w", err)
	case len(text) > maxTokenizeInput:
		return fmt.Errorf("cannot tokenize more than %d bytes", maxTokenizeInput)
	}
	prompt, err := c.prompt(text)
	if err != nil {
		return err
	}
	ids, err := keys.AppendIDs(nil, model.NewEncoder(), prompt)
	if err != nil {
		return fmt.Errorf("cannot tokenize: %w", err)
	}
	if prompt.Status != chattemplate.Exact {
		fmt.Fprintf(c.stderr, "penstock tokenize: the engine's prompt goes on differently: %s\n", prompt.Reason)
	}
	return c.print(ids, prompt, model.Info())
}

// prompt is the text itself, or the rendering of a request.
func (c *tokenizeCall) prompt(text []byte) (*chattemplate.Prompt, error) {
	if c.api == "" {
		part := chattemplate.Part{Text: text, AddSpecial: c.special == "on"}
		return &chattemplate.Prompt{Status: chattemplate.Exact, Parts: []chattemplate.Part{part}, Prompts: 1}, nil
	}
	api := tokenizeAPIs[c.api]
	if err := scan.Scan(text, api.body, scan.Limits{}, new(scan.Result)); err != nil {
		return nil, err // as the gateway refuses it
	}
	sources, template, err := keying.Sources(c.cfg.Path, c.cfg.ChatTemplate)
	if err != nil {
		return nil, err
	}
	r, err := chattemplate.New(sources, *keying.Profile(&c.cfg, configs.Engine(c.engine), c.cfg.EngineVersion, template))
	if err != nil {
		return nil, fmt.Errorf("cannot use the model's files: %w", err)
	}
	p := r.NewWorker().Render(&chattemplate.Request{Kind: api.prompt, Body: text, Now: c.now()})
	if p.Status == chattemplate.Unknown {
		why := ""
		if err := r.TemplateError(); err != nil {
			why = ": " + err.Error()
		}
		return nil, fmt.Errorf("cannot tell the engine's prompt: %s%s", p.Reason, why)
	}
	return p, nil
}

func (c *tokenizeCall) print(ids []uint32, p *chattemplate.Prompt, info tokenizer.Info) error {
	switch {
	case c.asJSON:
		return printJSON(c.stdout, tokenizeResult{
			Count: len(ids), IDs: append([]uint32{}, ids...), Status: p.Status.String(), Reason: string(p.Reason),
			Kind: info.Kind, Family: info.Family, Vocabulary: info.Vocabulary, Digest: info.Digest,
		})
	case c.count:
		_, err := fmt.Fprintln(c.stdout, len(ids))
		return err
	}
	line := make([]byte, 0, 7*len(ids)+1)
	for i, id := range ids {
		if i > 0 {
			line = append(line, ' ')
		}
		line = strconv.AppendUint(line, uint64(id), 10)
	}
	_, err := c.stdout.Write(append(line, '\n'))
	return err
}
