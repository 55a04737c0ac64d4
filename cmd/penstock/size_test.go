package main

import (
	"bytes"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Sizes that code without tests keeps to, in lines.
const (
	maxFile = 500
	maxFunc = 60
)

// longer lists what may be longer, up to the limit given, and why. A file is
// named by its path, a function by path:name.
var longer = map[string]struct {
	limit int
	why   string
}{
	"bench/enginesim/main.go:parseFlags": {80, "a flat table of flags"},
}

// TestSizes holds files and functions to their limits.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, f := range loadSource(t) {
		if f.test || ast.IsGenerated(f.syntax) {
			continue
		}
		checkSize(t, f.path, f.lines, maxFile)
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				lines := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1
				checkSize(t, f.path+":"+fn.Name.Name, lines, maxFunc)
			}
		}
	}
}

func checkSize(t *testing.T, name string, lines, limit int) {
	t.Helper()
	if e, ok := longer[name]; ok {
		limit = e.limit
	}
	if lines > limit {
		t.Errorf("%s has %d lines, the limit is %d", name, lines, limit)
	}
}

// TestEveryPackageSaysWhatItIs wants one package comment per package.
func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, f := range loadSource(t) {
		if f.test {
			continue
		}
		said[f.pkg] = said[f.pkg] || f.syntax.Doc != nil
	}
	for pkg, ok := range said {
		if !ok {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

// TestNoInit refuses init functions: they run before main can say anything, in
// an order that nobody reads.
func TestNoInit(t *testing.T) {
	t.Parallel()
	for _, f := range loadSource(t) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !ast.IsGenerated(f.syntax) {
				t.Errorf("%s has an init function", f.path)
			}
		}
	}
}

// textual are the kinds of files searched for notes of unfinished work, by name
// ending.
var textual = []string{".go", ".py", ".js", ".mjs", ".sh", ".yaml", ".yml", ".json", "Makefile", "Dockerfile"}

// TestNothingIsLeftForLater refuses notes of unfinished work: it is done, or it
// is an issue.
func TestNothingIsLeftForLater(t *testing.T) {
	t.Parallel()
	marks := [][]byte{[]byte("TO" + "DO"), []byte("FIX" + "ME")}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skippedDir(d.Name()):
			return fs.SkipDir
		case d.IsDir() || !slices.ContainsFunc(textual, func(end string) bool { return strings.HasSuffix(name, end) }):
			return nil
		}
		text, err := os.ReadFile(name)
		for _, mark := range marks {
			if bytes.Contains(text, mark) {
				t.Errorf("%s says %s", name, mark)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
