// Command prepare builds the texts of the oracle and asks the official tokenizers for
// their ids, once per model: a model whose folder, texts and scripts are as they were is
// left alone. setup.sh runs it.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"penstock/bench/oracle"
	"penstock/bench/oracle/corpus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	found, err := oracle.Find(getenv)
	flags := flag.NewFlagSet("prepare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("cache", found.Dir, "folder that setup.sh fills")
	scripts := flags.String("scripts", ".", "folder of encode.py and encode.mjs")
	if parsing := flags.Parse(args); parsing != nil {
		return 2
	}
	if err == nil || *dir != "" {
		p := preparer{cache: oracle.Cache{Dir: *dir}, scripts: *scripts, out: stdout, err: stderr}
		err = p.run(ctx, oracle.AgentText(getenv))
	}
	if err != nil {
		fmt.Fprintln(stderr, "prepare:", err)
		return 1
	}
	return 0
}

type preparer struct {
	cache    oracle.Cache
	scripts  string
	out, err io.Writer
}

func (p preparer) run(ctx context.Context, agentText string) error {
	models, err := p.cache.Models()
	if err != nil {
		return err
	}
	sets, err := p.sets(models, agentText)
	if err != nil {
		return err
	}
	texts, err := p.writeTexts(sets)
	if err != nil {
		return err
	}
	for _, m := range models {
		if err := p.model(ctx, m, texts); err != nil {
			return fmt.Errorf("cannot prepare %s: %w", m.Name, err)
		}
	}
	return nil
}

// sizes of the texts of each kind: about 1k, 10k and 100k tokens.
var sizes = []struct {
	name  string
	bytes int
}{{"1k", 4_000}, {"10k", 40_000}, {"100k", 400_000}}

func (p preparer) sets(models []oracle.Model, agentText string) ([]corpus.Set, error) {
	sources := corpus.Sources{Packages: filepath.Join(p.cache.Dir, "sources"), Go: runtime.GOROOT(), AgentText: agentText} //nolint:staticcheck // the toolchain runs this itself: go run
	var sets []corpus.Set
	for _, kind := range corpus.Kinds() {
		text, err := sources.Text(kind)
		if err != nil {
			return nil, err
		}
		for _, size := range sizes { // one after the other: a longer one does not repeat a shorter one
			doc := corpus.Documents(text, size.bytes)[0]
			sets = append(sets, corpus.Set{Name: string(kind) + "-" + size.name, Texts: [][]byte{doc}})
			text = text[len(doc):]
		}
	}
	if agentText == "" {
		fmt.Fprintln(p.out, "setup: texts: no agents' prompts (set PENSTOCK_AGENT_TEXT): their set is left out")
	} else {
		agent, err := sources.Agent()
		if err != nil {
			return nil, err
		}
		sets = append(sets, agent)
	}
	specials, err := addedTokens(models)
	if err != nil {
		return nil, err
	}
	return append(sets, corpus.Fuzz(specials)...), nil
}

// writeTexts writes the sets and returns what identifies them.
func (p preparer) writeTexts(sets []corpus.Set) (string, error) {
	dir := p.cache.TextsDir()
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	sum, total, strings := sha256.New(), 0, 0
	for _, set := range sets {
		path := filepath.Join(dir, set.Name+".texts")
		if err := set.Write(path); err != nil {
			return "", err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		sum.Write([]byte(set.Name))
		sum.Write(text)
		total += set.Bytes()
		strings += len(set.Texts)
	}
	fmt.Fprintf(p.out, "setup: texts: %d sets, %d texts, %.1f MB\n", len(sets), strings, float64(total)/1e6)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// perModel bounds how many added tokens of one model are typed into texts.
const perModel = 40

// addedTokens is the texts of added tokens of all models: the first ones of each, which
// are those that templates use, and as many from all over the rest.
func addedTokens(models []oracle.Model) ([]string, error) {
	seen := map[string]bool{}
	var out []string
	for _, m := range models {
		texts, err := m.AddedTokens()
		if err != nil {
			return nil, fmt.Errorf("cannot read the added tokens of %s: %w", m.Name, err)
		}
		step := max(1, len(texts)/(perModel/2))
		for i, text := range texts {
			if (i < perModel/2 || i%step == 0) && !seen[text] {
				seen[text] = true
				out = append(out, text)
			}
		}
	}
	return out, nil
}

// model asks the oracles of one model, unless nothing has changed since they were.
func (p preparer) model(ctx context.Context, m oracle.Model, texts string) error {
	stamp, err := p.stamp(m, texts)
	if err != nil {
		return err
	}
	out := p.cache.ExpectedDir(m.Name)
	path := filepath.Join(out, "stamp")
	if old, err := os.ReadFile(path); err == nil && string(old) == stamp {
		return nil
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	start := time.Now()
	python := filepath.Join(p.cache.Dir, "python", "bin", "python")
	if err := p.command(ctx, python, filepath.Join(p.scripts, "encode.py"), "batch", m.Dir, p.cache.TextsDir(), out); err != nil {
		return err
	}
	if m.Kind == "huggingface" {
		modules := filepath.Join(p.cache.Dir, "node")
		if err := p.command(ctx, "node", filepath.Join(p.scripts, "encode.mjs"), modules, m.Dir, p.cache.TextsDir(), out); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "setup: ids: %s, %.0f s\n", m.Name, time.Since(start).Seconds())
	return os.WriteFile(path, []byte(stamp), 0o644)
}

func (p preparer) stamp(m oracle.Model, texts string) (string, error) {
	sum := sha256.New()
	for _, path := range []string{
		filepath.Join(p.scripts, "encode.py"), filepath.Join(p.scripts, "encode.mjs"),
		filepath.Join(p.cache.Dir, "python", ".stamp"), filepath.Join(m.Dir, "oracle.json"),
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	return texts + " " + hex.EncodeToString(sum.Sum(nil)), nil
}

func (p preparer) command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = p.out, p.err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(args[0]), err)
	}
	return nil
}
