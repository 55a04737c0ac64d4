// Package jinja compiles and renders chat templates as Jinja2 3.1 does in the set-up
// of Hugging Face transformers: a sandbox by construction, with limits on depth,
// steps and output. What Python would raise is an error, never other output.
//
// A Template is immutable; an Env is scratch memory for one goroutine. It starts no
// goroutine.
package jinja

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"penstock/routing/chattemplate/value"
)

// Errors; test with errors.Is.
var (
	ErrSyntax      = errors.New("jinja: invalid template")
	ErrUnsupported = errors.New("jinja: not supported")       // names the filter, test, method or tag
	ErrRaised      = errors.New("jinja: the template raised") // raise_exception, or an error Python raises
	ErrLimit       = errors.New("jinja: over a limit")
)

// Limits bound one rendering. Zero fields take the defaults.
type Limits struct {
	Depth  int // nested calls; default 200
	Steps  int // nodes evaluated; default 20 million
	Output int // bytes; default 64 MiB
}

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	body    stmt
	root    *function
	globals []string // variables of the request that it mentions
	format  Format   // as vLLM finds it
	sglang  Format   // as SGLang does
	tables  *tables
	memory  value.Memory // of its constants
}

// Compile compiles a template.
func Compile(source string) (*Template, error) {
	t := &Template{tables: &allTables}
	body, err := parse(source, &t.memory)
	if err != nil {
		return nil, fmt.Errorf("cannot read template: %w", err)
	}
	c := compiler{t: t, globals: map[string]int{}}
	c.compile(body)
	if c.err != nil {
		return nil, fmt.Errorf("cannot compile template: %w", c.err)
	}
	t.format, t.sglang = detectFormats(source, body)
	return t, nil
}

// ContentFormat says how vLLM would pass a message's content to the template, found
// by looking at it as vLLM does: parts when it loops over content, else text.
func (t *Template) ContentFormat() Format { return t.format }

// SGLangContentFormat says the same of SGLang, which looks for less.
func (t *Template) SGLangContentFormat() Format { return t.sglang }

// Uses reports whether the template mentions a variable, such as "tools".
func (t *Template) Uses(variable string) bool {
	return slices.Contains(t.globals, variable)
}

// Format is how content is passed.
type Format uint8

// The formats, by vLLM's names "string" and "openai".
const (
	FormatString Format = iota
	FormatParts
)

// Env renders templates; it holds scratch memory and is for one goroutine at a time.
type Env struct {
	Memory value.Memory // request values live here
	Limits Limits
	Now    time.Time // for strftime_now, in the engine's zone

	run run
}

// Render appends the rendering with the entries of vars as variables.
func (e *Env) Render(dst []byte, t *Template, vars value.Value) ([]byte, error) {
	r := &e.run
	start := len(dst)
	r.prepare(e, t, vars)
	r.out = dst
	r.limits.Output += start
	before := r.enter(t.root, nil)
	t.body(r)
	if r.spend(0) {
		r.leave(t.root, before)
	}
	out, err := r.out, r.err
	r.release()
	if err != nil {
		return dst, fmt.Errorf("cannot render: %w", err)
	}
	return out, nil
}

// prepare starts a rendering.
func (r *run) prepare(e *Env, t *Template, vars value.Value) {
	r.t, r.m, r.now = t, &e.Memory, e.Now
	r.limits = Limits{
		Depth: orDefault(e.Limits.Depth, defaultDepth), Steps: orDefault(e.Limits.Steps, defaultSteps),
		Output: orDefault(e.Limits.Output, defaultOutput),
	}
	r.err, r.steps, r.depth, r.made = nil, r.limits.Steps, 0, 0
	r.pause = max(0, r.steps-pauseSteps)
	r.globals = r.globals[:0]
	for _, name := range t.globals {
		v := vars.Get(name)
		if v.Kind() == value.Undefined {
			v = builtin(name)
		}
		r.globals = append(r.globals, v)
	}
}

// keepLoops is how many loop variables are kept for the next rendering.
const keepLoops = 1024

// release drops what the rendering referred to.
func (r *run) release() {
	clear(r.globals)
	clear(r.stack[:cap(r.stack)])
	clear(r.texts[:cap(r.texts)])
	r.stack, r.names, r.texts = r.stack[:0], r.names[:0], r.texts[:0]
	for _, f := range r.free {
		clear(f.slots[:cap(f.slots)])
		f.up = nil
	}
	if len(r.free) > defaultDepth {
		r.free = nil
	}
	for _, s := range r.loops[:r.made] {
		*s = loopState{}
	}
	if len(r.loops) > keepLoops {
		r.loops = nil
	}
	r.out, r.t, r.fr = nil, nil, nil
}

func orDefault(n, fallback int) int {
	if n <= 0 {
		return fallback
	}
	return n
}
