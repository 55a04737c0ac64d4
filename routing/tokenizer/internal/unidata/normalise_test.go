package unidata

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// oracleFiles, when set, lists more golden files, colon separated; names with v14 in
// them are of Unicode 14.
const oracleFiles = "PENSTOCK_UNIDATA_ORACLE"

// Every line of a golden file is [text, NFC, NFD, NFKC, NFKD, lower case], as the
// engines' own library gave it.
func TestNormalisesAsTheEnginesDo(t *testing.T) {
	t.Parallel()
	files := []string{"testdata/forms.v16.jsonl"}
	for _, file := range append(files, filepath.SplitList(os.Getenv(oracleFiles))...) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			checkForms(t, file)
		})
	}
}

func checkForms(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table := Classes(V16)
	if strings.Contains(filepath.Base(file), "v14") {
		table = Classes(V14)
	}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<22)
	lines := 0
	for in.Scan() && !t.Failed() {
		var line [6]string
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		lines++
		text := []byte(line[0])
		same := func(form string, got []byte, want string) {
			t.Helper()
			if string(got) != want {
				t.Errorf("%s of %+.300q: %+.300q, want %+.300q", form, text, got, want)
			}
		}
		same("NFC", NFC(nil, text), line[1])
		same("NFD", NFD(nil, text), line[2])
		same("NFKC", NFKC(nil, text), line[3])
		same("NFKD", NFKD(nil, text), line[4])
		same("lower", table.LowerText(nil, text), line[5])
		checkQuick(t, text, line[1])
	}
	if in.Err() != nil || lines == 0 {
		t.Fatalf("%d lines, %v", lines, in.Err())
	}
	t.Logf("%d texts", lines)
}

// checkQuick holds IsNFC to what it says, given the NFC of text.
func checkQuick(t *testing.T, text []byte, composed string) {
	t.Helper()
	n := IsNFC(text)
	switch {
	case n == len(text):
		if string(text) != composed {
			t.Errorf("IsNFC(%+q) says yes, NFC is %+q", text, composed)
		}
	case n > len(text) || !utf8.RuneStart(text[n]):
		t.Errorf("IsNFC(%+q) = %d", text, n)
	case !strings.HasPrefix(composed, string(text[:n])) || string(NFC(nil, text[n:])) != composed[n:]:
		t.Errorf("IsNFC(%+q) = %d, but what follows changes NFC before it: %+q", text, n, composed)
	}
}

func FuzzForms(f *testing.F) {
	for _, seed := range []string{"", "abc", "e\u0301", "\u1100\u1161\u11a8", "a\u0323\u0302", "q\u0307\u0323", "\u0344", "中文か\u3099"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		IsNFC(text) // does not panic on bytes that are no text
		if !utf8.Valid(text) {
			return
		}
		c, d := NFC(nil, text), NFD(nil, text)
		kc, kd := NFKC(nil, text), NFKD(nil, text)
		equal := func(what string, a, b []byte) {
			t.Helper()
			if !bytes.Equal(a, b) {
				t.Errorf("%s of %+q: %+q and %+q", what, text, a, b)
			}
		}
		equal("NFC(NFC)", NFC(nil, c), c)
		equal("NFC(NFD)", NFC(nil, d), c)
		equal("NFD(NFC)", NFD(nil, c), d)
		equal("NFD(NFD)", NFD(nil, d), d)
		equal("NFKC(NFC)", NFKC(nil, c), kc)
		equal("NFKD(NFKC)", NFKD(nil, kc), kd)
		equal("appended NFC", NFC([]byte("x"), text)[1:], c)
		checkQuick(t, text, string(c))
	})
}
