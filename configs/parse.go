package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes is far above any real file and keeps a wrong path from being
// read into memory.
const maxFileBytes = 8 << 20

// Options are the surroundings that a configuration refers to. The zero value
// is the process's own.
type Options struct {
	Getenv   func(name string) string          // nil: os.Getenv
	ReadFile func(path string) ([]byte, error) // nil: os.ReadFile
	Now      func() time.Time                  // nil: time.Now; tells expired keys
	// AllowMasked accepts "***" as the text of a secret, to read back what
	// Effective printed.
	AllowMasked bool
}

func (o Options) filled() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Report is the outcome of Check.
type Report struct {
	Config   *Config   // nil when there are errors
	Errors   []Problem // in order of place
	Warnings []Problem // what works but is probably not meant
}

// Parse reads one configuration strictly. The error is an *Errors with every
// problem.
func Parse(data []byte, opts Options) (*Config, error) {
	r := Check(data, opts)
	if len(r.Errors) > 0 {
		return nil, &Errors{Problems: r.Errors}
	}
	return r.Config, nil
}

// LoadFile reads the file at path with the process's own surroundings.
func LoadFile(path string) (*Config, error) {
	c, _, err := LoadFileWith(path, Options{})
	return c, err
}

// LoadFileWith reads the file at path and returns its warnings too. A file that can
// be read but not used gives an *Errors that names the file.
func LoadFileWith(path string, opts Options) (*Config, []Problem, error) {
	opts = opts.filled()
	data, err := opts.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read configuration: %w", err)
	}
	r := Check(data, opts)
	if len(r.Errors) > 0 {
		return nil, r.Warnings, &Errors{File: path, Problems: r.Errors}
	}
	return r.Config, r.Warnings, nil
}

// Check reads one configuration and reports everything about it.
func Check(data []byte, opts Options) Report {
	c := Default()
	d := decoder{opts: opts.filled(), marks: map[string]mark{"": {1, 1}}}
	root, problem := parseDocument(data)
	if problem != nil {
		return Report{Errors: []Problem{*problem}}
	}
	if root != nil {
		d.value(root, reflect.ValueOf(&c).Elem(), "")
	}
	c.Complete()
	f := c.findings(d.opts.Now())
	d.problems = append(d.problems, d.place(withoutFollowUps(f.problems, d.problems))...)
	d.warnings = append(d.warnings, d.place(f.warnings)...)
	sortProblems(d.problems)
	sortProblems(d.warnings)
	r := Report{Errors: d.problems, Warnings: d.warnings}
	if len(r.Errors) == 0 {
		r.Config = &c
	}
	return r
}

// withoutFollowUps drops findings of the validation on paths whose decoding
// already failed, or right above or below such a path: the value there is only
// the default, or misses what could not be read.
func withoutFollowUps(found, failed []Problem) []Problem {
	seen, parents := make(map[string]bool, len(failed)), make(map[string]bool, len(failed))
	for _, p := range failed {
		seen[p.Path] = p.Path != ""
		parents[parentPath(p.Path)] = true
	}
	return slices.DeleteFunc(found, func(p Problem) bool {
		return seen[p.Path] || seen[parentPath(p.Path)] || parents[p.Path]
	})
}

// place gives findings on values the place of the value, or of the nearest
// block around it that the file has.
func (d *decoder) place(list []Problem) []Problem {
	for i := range list {
		for path := list[i].Path; ; path = parentPath(path) {
			if m, ok := d.marks[path]; ok {
				list[i].Line, list[i].Column = m.line, m.column
				break
			}
			if path == "" {
				break
			}
		}
	}
	return list
}

func parentPath(path string) string {
	cut := strings.LastIndexAny(path, ".[")
	if cut < 0 {
		return ""
	}
	return path[:cut]
}

// parseDocument returns the tree of the only document, nil for an empty file.
func parseDocument(data []byte) (*yaml.Node, *Problem) {
	if len(data) > maxFileBytes {
		return nil, &Problem{Line: 1, Column: 1, Message: fmt.Sprintf("the file is larger than %s", Size(maxFileBytes))}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, syntaxProblem(err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, &Problem{Line: second.Line, Column: max(second.Column, 1), Message: "the file has a second document; only one is read"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxProblem(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxProblem takes the line out of the YAML library's message, which is the
// only place that has it.
func syntaxProblem(err error) *Problem {
	p := Problem{Line: 1, Column: 1, Message: err.Error()}
	if m := yamlLine.FindStringSubmatch(p.Message); m != nil {
		if n, convErr := strconv.Atoi(m[1]); convErr == nil {
			p.Line = n
		}
		p.Message = m[2]
	}
	p.Message = "not valid YAML: " + p.Message
	return &p
}
