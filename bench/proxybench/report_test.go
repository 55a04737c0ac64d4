package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func newReader(c net.Conn) *bufio.Reader { return bufio.NewReader(c) }

func filled() *harness {
	h := &harness{
		options: options{rounds: 3}, notes: io.Discard,
		proxies: []proxy{{name: direct}, {name: "Penstock"}, {name: "nginx", version: "nginx/1"}, {name: "HAProxy"}},
		cases:   allCases()[:1], remarks: []string{"a remark"},
	}
	h.cells = map[string]map[string][]cell{"small": {
		direct:     {{mRate: 50000}, {mRate: 50000}, {mRate: 50000}},
		"Penstock": {{mRate: 40000, mCPU: 24, mBusy: 0.97}, {mRate: 41000, mCPU: 26, mBusy: 0.98}, {}},
		"nginx":    {{mRate: 50000, mCPU: 20, mBusy: 0.80}, {mRate: 50000, mCPU: 20, mBusy: 0.80}, {mRate: 50000, mCPU: 20, mBusy: 0.80}},
		"HAProxy":  {{mRate: 9, mBusy: 0.99, mForeign: 0.3}, {mRate: 9, mBusy: 0.99, mForeign: 0.2}},
	}}
	return h
}

func TestTables(t *testing.T) {
	t.Parallel()
	text := filled().document([]string{"--rounds", "3"})
	for _, want := range []string{
		"smoke run", "`go run ./bench/proxybench --rounds 3`", "a remark",
		"| Penstock | 40500 [40000-41000] | 25.0 [24.0-26.0] | 1.25 (1.20 to 1.30) |",
		"void (50000 [50000-50000])", // the core of nginx was not busy
		"void (9 [9-9])",             // other processes were
		"| CPU per request, 1 KiB, against nginx | 1.2× | 1.25× | **missed** |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the document lacks %q:\n%s", want, text)
		}
	}
}

func TestPublishKeepsWhatIsWrittenByHand(t *testing.T) {
	t.Parallel()
	h := filled()
	h.out = filepath.Join(t.TempDir(), "RESULTS.md")
	for range 2 {
		if err := section.Publish(h.out, h.document(nil), io.Discard); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(h.out)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, []byte("<!-- proxybench: begin -->")); n != 1 {
			t.Fatalf("%d blocks in the file", n)
		}
		if err := os.WriteFile(h.out, append([]byte("before\n"), append(b, "after\n"...)...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	f := func(args ...string) {
		t.Helper()
		if code := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard); code != exitUsage {
			t.Errorf("%q: exit code %d, want 2", args, code)
		}
	}
	f("--rounds", "0")
	f("--cases", "nonsense")
	f("--proxy-core", "1", "--generator-core", "1")
	f("extra")
	f("--nope")
}

func TestConfigurationsAreWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, adminFile), []byte("127.0.0.1:3"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(command func(dir, address, upstream string) (cmd interface{ String() string }, err error), file, want string) {
		t.Helper()
		if _, err := command(dir, "127.0.0.1:1", "127.0.0.1:2"); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(b), want) || strings.Contains(string(b), "%!") {
			t.Errorf("%s: %v\n%s", file, err, b)
		}
	}
	type command = func(dir, address, upstream string) (cmd interface{ String() string }, err error)
	wrap := func(p proxy) command {
		return func(dir, address, upstream string) (interface{ String() string }, error) {
			return p.command(dir, address, upstream)
		}
	}
	f(wrap(proxy{command: nginxCommand("nginx", 10)}), "nginx.conf", "worker_connections 40;")
	f(wrap(proxy{command: haproxyCommand("haproxy", 10)}), "haproxy.cfg", "maxconn 10\n")
	f(wrap(proxy{command: penstockCommand("penstock", "")}), "penstock.yaml", `url: "http://127.0.0.1:2"`)
}
