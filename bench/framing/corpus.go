package framing

import (
	"bufio"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Case is one raw client request, or several on one connection, and what a
// proxy has to make of it.
type Case struct {
	Class string // the corpus file it stands in
	Name  string
	Why   string // what goes wrong where it is accepted

	// Segments are the bytes of the client. After each but the last it waits for
	// an answer, an interim one included.
	Segments []string
	// Fin: the client closes its direction right after the last byte.
	Fin bool
	// Lenient: the HTTP library takes what the letter of RFC 9112 does not, and
	// does no harm, since the gateway frames the request anew.
	Lenient bool
	// Open: the request is unfinished on purpose, nothing may follow it.
	Open bool

	// Want are the answers in order, each with the statuses that are right. When
	// the last is an error the proxy must close the connection.
	Want [][]int
	// Sees are the requests that the backend gets: method, target, body.
	Sees []Seen
	// Passes are fields that the backend gets with the value, on its first
	// request; Drops are names that it does not get; Lacks are texts that appear
	// nowhere in what it gets.
	Passes []Field
	Drops  []string
	Lacks  []string
}

// Seen is a request without its fields.
type Seen struct{ Method, Target, Body string }

// Raw is everything the client sends.
func (c *Case) Raw() string { return strings.Join(c.Segments, "") }

// Refused reports whether nothing of the case may reach the backend.
func (c *Case) Refused() bool { return len(c.Sees) == 0 }

// Ends reports whether the last answer is an error, after which the connection
// is closed by the proxy.
func (c *Case) Ends() bool {
	last := c.Want[len(c.Want)-1]
	return last[0] >= 400
}

//go:embed testdata/corpus/*.http
var corpusFiles embed.FS

// Corpus is the corpus of this package.
func Corpus() ([]Case, error) { return Load(corpusFiles, "testdata/corpus") }

// Load reads the corpus files (*.http) in a directory of fsys, sorted by name.
func Load(fsys fs.FS, dir string) ([]Case, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.http"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []Case
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("cannot read corpus: %w", err)
		}
		cases, err := Parse(strings.TrimSuffix(path.Base(name), ".http"), string(text))
		if err != nil {
			return nil, fmt.Errorf("cannot parse corpus file %q: %w", name, err)
		}
		all = append(all, cases...)
	}
	return all, nil
}

// Parse reads one corpus file:
//
//	# comment
//	== name of the case
//	why: one line
//	want: 200 400|501        answers in order; "none" is an end without one
//	sees: POST /path body    one line for each request that the backend gets
//	passes: name: value
//	drops: name
//	lacks: text
//	end: fin | open
//	raw:
//	GET / HTTP/1.1\r\n
//	...
//
// Line ends inside raw do not count, only the escapes do: \r \n \t \\ \xHH,
// \{N*text} for text N times, \{answer} for waiting until one has arrived.
func Parse(class, text string) ([]Case, error) {
	var cases []Case
	raw := false
	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line := scanner.Text()
		var err error
		switch {
		case strings.HasPrefix(line, "== "):
			cases = append(cases, Case{Class: class, Name: line[3:], Segments: []string{""}})
			raw = false
		case line == "" || strings.HasPrefix(line, "#") && !raw:
		case len(cases) == 0:
			err = fmt.Errorf("text before the first case")
		case raw:
			err = cases[len(cases)-1].addRaw(line)
		case line == "raw:":
			raw = true
		default:
			err = cases[len(cases)-1].set(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	for i := range cases {
		if err := cases[i].validate(); err != nil {
			return nil, fmt.Errorf("case %q: %w", cases[i].Name, err)
		}
	}
	return cases, scanner.Err()
}

func (c *Case) validate() error {
	successes := 0
	for _, statuses := range c.Want {
		if statuses[0] < 400 {
			successes++
		}
	}
	switch {
	case c.Why == "" || len(c.Want) == 0 || c.Raw() == "":
		return fmt.Errorf("why, want and raw are needed")
	case successes != len(c.Sees):
		return fmt.Errorf("%d successful answers but %d requests at the backend", successes, len(c.Sees))
	}
	return nil
}

func (c *Case) set(line string) error {
	key, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch key {
	case "why":
		c.Why = value
	case "want":
		return c.setWant(value)
	case "sees":
		return c.addSeen(value)
	case "passes":
		name, v, ok := strings.Cut(value, ": ")
		if !ok {
			return fmt.Errorf("cannot read field %q", value)
		}
		v, err := unescape(v)
		c.Passes = append(c.Passes, Field{Name: name, Value: v})
		return err
	case "drops":
		c.Drops = append(c.Drops, value)
	case "lenient":
		c.Lenient = true
		c.Why += "; " + value
	case "lacks":
		c.Lacks = append(c.Lacks, value)
	case "end":
		c.Fin, c.Open = value == "fin", value == "open"
		if !c.Fin && !c.Open {
			return fmt.Errorf("cannot end a case with %q", value)
		}
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return nil
}

// noAnswer stands for a connection that ends without an answer.
const noAnswer = 999

// MayEndSilently reports whether no answer at all is right.
func (c *Case) MayEndSilently() bool { return len(c.Want) == 1 && slices.Contains(c.Want[0], noAnswer) }

func (c *Case) setWant(value string) error {
	for answer := range strings.FieldsSeq(value) {
		var statuses []int
		for s := range strings.SplitSeq(answer, "|") {
			status, err := strconv.Atoi(s)
			if s == "none" {
				status, err = noAnswer, nil
			}
			if err != nil || status < 200 || status > 999 {
				return fmt.Errorf("cannot expect status %q", s)
			}
			statuses = append(statuses, status)
		}
		c.Want = append(c.Want, statuses)
	}
	return nil
}

func (c *Case) addSeen(value string) error {
	parts := strings.SplitN(value, " ", 3)
	if len(parts) < 2 {
		return fmt.Errorf("cannot read request %q", value)
	}
	s := Seen{Method: parts[0], Target: parts[1]}
	var err error
	if len(parts) == 3 {
		s.Body, err = unescape(parts[2])
	}
	c.Sees = append(c.Sees, s)
	return err
}

// awaitAnswer splits the raw text where the client waits.
const awaitAnswer = `\{answer}`

func (c *Case) addRaw(line string) error {
	for i, piece := range strings.Split(line, awaitAnswer) {
		if i > 0 {
			c.Segments = append(c.Segments, "")
		}
		text, err := unescape(piece)
		if err != nil {
			return err
		}
		c.Segments[len(c.Segments)-1] += text
	}
	return nil
}

// maxRepeat keeps a typing mistake from filling the memory.
const maxRepeat = 16 << 20

// unescape resolves the escapes of the corpus.
func unescape(s string) (string, error) {
	var out strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i == len(s)-1 {
			out.WriteString(s)
			if i >= 0 {
				return "", fmt.Errorf("cannot read escape at the end of %q", s)
			}
			return out.String(), nil
		}
		out.WriteString(s[:i])
		text, used, err := oneEscape(s[i+1:])
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		s = s[i+1+used:]
	}
}

// oneEscape resolves the escape that follows a backslash and says how many
// bytes it took.
func oneEscape(s string) (text string, used int, err error) {
	switch s[0] {
	case 'r':
		return "\r", 1, nil
	case 'n':
		return "\n", 1, nil
	case 't':
		return "\t", 1, nil
	case '\\':
		return `\`, 1, nil
	case 'x':
		if len(s) >= 3 {
			if b, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
				return string([]byte{byte(b)}), 3, nil
			}
		}
	case '{':
		inner, _, closed := strings.Cut(s[1:], "}")
		count, unit, found := strings.Cut(inner, "*")
		n, err := strconv.Atoi(count)
		if !closed || !found || err != nil {
			break
		}
		unit, err = unescape(unit)
		if err != nil || n < 0 || n*len(unit) > maxRepeat {
			break
		}
		return strings.Repeat(unit, n), len(inner) + 2, nil
	}
	return "", 0, fmt.Errorf("cannot read escape %.20q", `\`+s)
}
