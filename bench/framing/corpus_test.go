package framing

import (
	"errors"
	"strings"
	"testing"
)

func corpus(t testing.TB) []Case {
	t.Helper()
	cases, err := Corpus()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// minCases keeps cases from getting lost in an edit of the corpus.
const minCases = 300

func TestCorpusIsComplete(t *testing.T) {
	t.Parallel()
	cases := corpus(t)
	if len(cases) < minCases {
		t.Errorf("%d cases, want at least %d", len(cases), minCases)
	}
	names := map[string]bool{}
	for i := range cases {
		name := cases[i].Class + "/" + cases[i].Name
		if names[name] {
			t.Errorf("case %q stands there twice", name)
		}
		names[name] = true
	}
}

// A case that is to be forwarded must be beyond doubt for the strict reader,
// and one that is refused for its form must not be.
func TestCorpusAgreesWithStrictReader(t *testing.T) {
	t.Parallel()
	for _, c := range corpus(t) {
		t.Run(c.Class+"/"+c.Name, func(t *testing.T) {
			t.Parallel()
			requests, err := ReadAll(c.Raw())
			if c.Lenient {
				if !errors.Is(err, ErrMalformed) {
					t.Fatalf("nothing lenient about it: %v", err)
				}
				return
			}
			if len(requests) < len(c.Sees) {
				t.Fatalf("strict reader: %d requests (%v), want at least %d", len(requests), err, len(c.Sees))
			}
			if len(c.Want) != 1 || !c.Refused() {
				return
			}
			policy := c.Class == "target" || c.Class == "host" || c.Class == "size" || c.Class == "expect" ||
				c.Class == "upgrade" || c.Class == "pipeline" ||
				c.Class == "trailers" || c.Name == "extension without end"
			if err == nil && !policy {
				t.Errorf("strict reader finds nothing wrong, but the case is refused with %v", c.Want)
			}
		})
	}
}

func TestPenstockFollowsCorpus(t *testing.T) {
	t.Parallel()
	for _, c := range corpus(t) {
		t.Run(c.Class+"/"+c.Name, func(t *testing.T) {
			t.Parallel()
			playCase(t, &c, "")
		})
	}
}

// After a refusal nothing else on the connection may count: whoever is in doubt
// about one request cannot know where the next begins.
func TestNothingIsReadAfterRefusal(t *testing.T) {
	t.Parallel()
	for _, c := range corpus(t) {
		if !c.Ends() || c.Fin || c.Open {
			continue
		}
		t.Run(c.Class+"/"+c.Name, func(t *testing.T) {
			t.Parallel()
			c.Lacks = append(c.Lacks, "canary-after")
			playCase(t, &c, Probe("canary-after"))
		})
	}
}

// playCase runs one case through a gateway and a backend of its own, then an
// ordinary request of another client.
func playCase(t *testing.T, c *Case, extra string) {
	t.Helper()
	backend, err := StartBackend()
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	gateway, err := StartPenstock(backend.Addr())
	if err != nil {
		t.Fatal(err)
	}
	out, err := gateway.Target().Play(c, extra)
	if err != nil {
		t.Error(err)
	}
	if err := gateway.Target().Victim("victim-1"); err != nil {
		t.Error(err)
	}
	if err := gateway.Stop(); err != nil {
		t.Error(err)
	}
	records := backend.Close()
	if out == nil {
		return
	}
	for _, wrong := range Check(c, out, records) {
		t.Error(wrong)
	}
	if t.Failed() {
		t.Logf("why: %s\nanswers: %s\nsent: %.600q", c.Why, out, c.Raw()+extra)
		for i := range records {
			t.Logf("backend connection %d: %.900q", i, records[i].Raw)
		}
	}
}

func TestCorpusSyntax(t *testing.T) {
	t.Parallel()
	f := func(name, text, want string) {
		t.Helper()
		_, err := Parse("x", text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	const head = "== a\nwhy: b\n"
	f("minimal case", head+"want: 400\nraw:\nGET\\r\\n\n", "")
	f("text before a case", "why: b\n", "before the first case")
	f("unknown key", head+"wants: 400\n", "unknown key")
	f("status out of range", head+"want: 99\n", "status")
	f("no answers", head+"raw:\nx\n", "needed")
	f("success that nobody sees", head+"want: 200\nraw:\nx\n", "1 successful answers but 0")
	f("unknown escape", head+"want: 400\nraw:\n\\q\n", "escape")
	f("escape cut off", head+"want: 400\nraw:\na\\\n", "escape")
	f("escape without a brace", head+"want: 400\nraw:\n\\{3*a\n", "escape")
	f("too large", head+"want: 400\nraw:\n\\{999999999*a}\n", "escape")
	f("unknown end", head+"end: maybe\n", "cannot end")
}

func TestCorpusEscapes(t *testing.T) {
	t.Parallel()
	f := func(text, want string) {
		t.Helper()
		got, err := unescape(text)
		if err != nil || got != want {
			t.Errorf("unescape(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	f(`plain`, "plain")
	f(`a\r\n\t\\b`, "a\r\n\t\\b")
	f(`\x00\xFF`, "\x00\xff")
	f(`\{3*ab\r}c`, "ab\rab\rab\rc")
	f(`\{0*a}`, "")
}
