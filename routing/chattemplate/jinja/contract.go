// Package jinja compiles and renders chat templates as Jinja2 does in the set-up of
// Hugging Face transformers: a sandbox by construction, with limits on depth, steps
// and output.
package jinja

import (
	"errors"
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
	Steps  int // nodes evaluated; default 50 million
	Output int // bytes; default 64 MiB
}

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct{}

// Compile compiles a template.
func Compile(source string) (*Template, error) { panic("not built yet") }

// ContentFormat says how the engines would pass a message's content to the template,
// found by looking at it as vLLM and SGLang do: parts when it loops over content,
// else text.
func (t *Template) ContentFormat() Format { panic("not built yet") }

// Uses reports whether the template mentions a variable, such as "tools".
func (t *Template) Uses(variable string) bool { panic("not built yet") }

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
}

// Render appends the rendering with the entries of vars as variables.
func (e *Env) Render(dst []byte, t *Template, vars value.Value) ([]byte, error) {
	panic("not built yet")
}
