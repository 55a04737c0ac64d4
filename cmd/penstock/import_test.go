package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path that the packages of this repository start with.
const module = "penstock"

// sourceFile is one parsed Go file of the repository, whatever its build tags.
type sourceFile struct {
	path    string // from the repository root, with slashes
	pkg     string // directory of path
	test    bool
	lines   int
	fset    *token.FileSet
	syntax  *ast.File
	imports []string
}

// loadSource parses every Go file of the repository.
func loadSource(t *testing.T) []*sourceFile {
	t.Helper()
	root := filepath.Join("..", "..")
	var files []*sourceFile
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skippedDir(d.Name()):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := parseSource(name, filepath.ToSlash(rel))
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("found no source: is this test run inside the repository?")
	}
	return files
}

func skippedDir(name string) bool {
	hidden := strings.HasPrefix(name, ".") && strings.Trim(name, ".") != ""
	return hidden || name == "testdata" || name == "node_modules" || name == "bin"
}

func parseSource(name, rel string) (*sourceFile, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := &sourceFile{path: rel, pkg: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"), fset: token.NewFileSet()}
	f.syntax, err = parser.ParseFile(f.fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f.lines = strings.Count(string(text), "\n")
	for _, spec := range f.syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// layers orders the top folders: a package may import its own layer and those
// before it.
var layers = []string{"configs", "pools", "routing", "proxy", "cmd"}

// TestImportsPointDown enforces the direction cmd -> proxy -> routing -> pools
// -> configs, in tests as well.
func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, f := range loadSource(t) {
		for _, imported := range f.imports {
			to, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			if why := forbidden(f.pkg, to); why != "" {
				t.Errorf("%s imports %s: %s", f.path, to, why)
			}
		}
	}
}

// forbidden says why package from may not import package to, "" if it may.
func forbidden(from, to string) string {
	top, _, _ := strings.Cut(from, "/")
	target, _, _ := strings.Cut(to, "/")
	switch {
	case from == to: // an example or an outside test of the package itself
		return ""
	case target == "cmd":
		return "nothing imports a command"
	case target == "bench" && top != "bench" && top != "cmd":
		return "only cmd and bench import bench"
	case top == "bench", top == "cmd":
		return ""
	case top == "kvfabric" && target != "kvfabric":
		return "kvfabric imports the standard library only"
	case top == "proxy" && target == "proxy" && from != "proxy":
		return "subpackages of proxy import neither proxy nor each other"
	case top == target:
		return ""
	case slices.Index(layers, target) < 0 || slices.Index(layers, top) < 0:
		return "it is not in the order " + strings.Join(layers, ", ")
	case slices.Index(layers, target) > slices.Index(layers, top):
		return "the arrow points up"
	}
	return ""
}

// Third-party modules, by the start of their import paths.
const (
	fasthttp  = "github.com/valyala/fasthttp"
	xxhash    = "github.com/cespare/xxhash/v2"
	goredis   = "github.com/redis/go-redis/v9"
	breaker   = "github.com/sony/gobreaker/v2"
	metrics   = "github.com/prometheus/client_golang"
	histogram = "github.com/HdrHistogram/hdrhistogram-go"
	zstandard = "github.com/klauspost/compress"
	schema    = "github.com/santhosh-tekuri/jsonschema/v6"
	yaml      = "go.yaml.in/yaml/v3"
	unix      = "golang.org/x/sys"
	goleak    = "go.uber.org/goleak"
)

// homes says which packages may import which third parties. A package that is
// not named here may import none; a name does not stand for its subfolders.
var homes = map[string][]string{
	"configs":                   {yaml},
	"pools":                     {breaker, metrics},
	"pools/shared":              {goredis},
	"routing":                   {xxhash},
	"routing/keying":            {metrics, xxhash},
	"routing/keys":              {xxhash},
	"routing/kvevents":          {xxhash},
	"routing/prefixindex/redis": {goredis},

	"proxy":          {fasthttp, metrics, xxhash},
	"proxy/listen":   {unix},
	"proxy/relay":    {unix},
	"proxy/upstream": {unix},
	"proxy/watch":    {unix},

	"cmd/penstock": {metrics, unix},

	"bench/enginesim":        {xxhash},
	"bench/enginesim/core":   {xxhash},
	"bench/enginesim/tokens": {xxhash},
	"bench/framing":          {metrics},
	"bench/loadgen":          {histogram},
	"bench/oracle/speed":     {unix},
	"bench/proxybench":       {fasthttp, unix},
	"bench/trace":            {zstandard},
}

// testHomes adds what tests may import beyond homes. goleak is free to all.
var testHomes = map[string][]string{
	"bench/faults": {unix},
	"configs":      {schema},
	"proxy":        {metrics},
}

// TestThirdPartiesStayHome keeps each library in the packages that wrap it.
func TestThirdPartiesStayHome(t *testing.T) {
	t.Parallel()
	for _, f := range loadSource(t) {
		allowed := homes[f.pkg]
		if f.test {
			allowed = slices.Concat(allowed, testHomes[f.pkg], []string{goleak})
		}
		for _, imported := range f.imports {
			if isThirdParty(imported) && !within(imported, allowed) {
				t.Errorf("%s imports %s: not among the third parties of %s", f.path, imported, f.pkg)
			}
		}
	}
}

// isThirdParty tells by the dot in the first element, which no path of the
// standard library and none of ours has.
func isThirdParty(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".")
}

// within reports whether a path is one of the roots or below one.
func within(imported string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return imported == root || strings.HasPrefix(imported, root+"/")
	})
}

// reserved are packages of the standard library that only some folders or files
// may import, with the reason.
var reserved = map[string]struct {
	why  string
	only []string
}{
	"C": {"cgo lives in kvfabric, behind its tag", []string{"kvfabric"}},
	"unsafe": {"memory safety is not traded for speed; these call the kernel", []string{
		"proxy/relay/socket_linux.go", "proxy/upstream/peek_unix.go",
	}},
	"net/http/pprof": {"profiles are the admin listener's", []string{"proxy/admin"}},
	"log":            {"the log is log/slog", nil},
	"math/rand":      {"use math/rand/v2", nil},
	"net/http": {"the data plane does not speak through net/http", []string{
		"proxy/admin", "proxy/workerapi.go", "pools/engine", "pools/health", "pools/load", "pools/discovery",
		"cmd/penstock", "bench",
	}},
}

// TestReservedPackages keeps some of the standard library out of most places.
func TestReservedPackages(t *testing.T) {
	t.Parallel()
	for _, f := range loadSource(t) {
		for _, imported := range f.imports {
			rule, is := reserved[imported]
			if is && !f.test && !within(f.path, rule.only) {
				t.Errorf("%s imports %s: %s", f.path, imported, rule.why)
			}
		}
	}
}

// pure are the packages without I/O, clock and randomness of their own, so that
// the same code runs live, in virtual time and under fuzz.
var pure = []string{
	"routing", "routing/internal/gmac", "routing/internal/lru", "routing/keys", "routing/prefixindex", "routing/kvevents",
	"routing/chattemplate", "routing/chattemplate/value", "routing/chattemplate/jinja",
	"routing/chattemplate/harmony", "routing/chattemplate/deepseek",
	"routing/tokenizer/internal/unidata", "routing/tokenizer/internal/split", "routing/tokenizer/internal/bpe",
	"routing/tokenizer/internal/added", "routing/tokenizer/internal/normalize", "routing/tokenizer/internal/pretok",
	"routing/tokenizer/internal/post", "routing/tokenizer/internal/runeset", "routing/tokenizer/internal/trie",
	"routing/tokenizer/internal/unigram", "routing/tokenizer/internal/wordpiece",
	"pools/planner", "proxy/limits", "proxy/scan", "proxy/sse", "bench/enginesim/core",
}

// impure are imports that a pure package may not have, with all below them.
var impure = []string{"net", "os", "io/fs", "syscall", "log", "context", "crypto/rand", "math/rand", "runtime"}

// clock are the names of package time that read or follow the clock.
var clock = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}

// seeded are the names of math/rand/v2 that do not draw from the global source.
var seeded = []string{"Rand", "New", "Source", "PCG", "NewPCG", "ChaCha8", "NewChaCha8", "Zipf", "NewZipf"}

// TestCoreIsPure checks the imports and the clock of the pure packages.
func TestCoreIsPure(t *testing.T) {
	t.Parallel()
	for _, f := range loadSource(t) {
		if f.test || !slices.Contains(pure, f.pkg) {
			continue
		}
		for _, imported := range f.imports {
			if imported != "math/rand/v2" && within(imported, impure) {
				t.Errorf("%s imports %s: %s is pure", f.path, imported, f.pkg)
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if name, bad := ambient(n); bad {
				t.Errorf("%s uses %s: clocks and randomness are injected", f.fset.Position(n.Pos()), name)
			}
			return true
		})
	}
}

// ambient reports a use of the clock or of the global random source.
func ambient(n ast.Node) (name string, bad bool) {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	pkg, ok := selector.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	name = pkg.Name + "." + selector.Sel.Name
	switch pkg.Name {
	case "time":
		return name, slices.Contains(clock, selector.Sel.Name)
	case "rand":
		return name, !slices.Contains(seeded, selector.Sel.Name)
	}
	return name, false
}

func TestForbidden(t *testing.T) {
	t.Parallel()
	f := func(from, to string, want bool) {
		t.Helper()
		if got := forbidden(from, to) != ""; got != want {
			t.Errorf("forbidden(%s, %s) = %q", from, to, forbidden(from, to))
		}
	}
	f("cmd/penstock", "proxy", false)
	f("cmd/penstock", "bench/demo", false)
	f("proxy", "routing", false)
	f("proxy", "proxy/sse", false)
	f("proxy/disagg", "pools", false)
	f("pools/health", "pools", false)
	f("bench/demo", "proxy/upstream", false)
	f("kvfabric/agent", "kvfabric", false)
	f("proxy/auth", "proxy/auth", false)

	f("configs", "pools", true)
	f("pools", "routing", true)
	f("routing", "proxy", true)
	f("proxy/auth", "proxy/admin", true)
	f("proxy/auth", "proxy", true)
	f("proxy", "bench/trace", true)
	f("proxy", "cmd/penstock", true)
	f("bench/demo", "cmd/penstock", true)
	f("kvfabric", "configs", true)
	f("pools", "kvfabric", true)
	f("routing", "elsewhere", true)
}
