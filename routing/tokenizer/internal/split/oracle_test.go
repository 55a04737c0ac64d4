package split

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"penstock/routing/tokenizer/internal/unidata"
)

// oracleFolders, when set, lists folders of more golden files, colon separated;
// names that end with 14 are of Unicode 14.
const oracleFolders = "PENSTOCK_SPLIT_ORACLE"

// Every line of a golden file is [text, [end of each piece]], as the engines' own
// library cut it.
func TestCutsAsTheEnginesDo(t *testing.T) {
	t.Parallel()
	folders := []string{"testdata/16", "testdata/14"}
	folders = append(folders, filepath.SplitList(os.Getenv(oracleFolders))...)
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				checkGolden(t, file)
			})
		}
	}
}

func checkGolden(t *testing.T, file string) {
	t.Helper()
	v := unidata.V16
	if strings.HasSuffix(filepath.Dir(file), "14") {
		v = unidata.V14
	}
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	s, ok := New(Family(name), v)
	if !ok {
		t.Fatalf("no family %q", name)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<22)
	lines, wrong := 0, 0
	for in.Scan() {
		var line struct {
			text string
			ends []int
		}
		if err := json.Unmarshal(in.Bytes(), &[]any{&line.text, &line.ends}); err != nil {
			t.Fatal(err)
		}
		lines++
		if !sameCuts(t, s, line.text, line.ends) {
			if wrong++; wrong > 5 {
				t.Fatal("and more")
			}
		}
	}
	if in.Err() != nil || lines == 0 {
		t.Fatalf("%d lines, %v", lines, in.Err())
	}
	t.Logf("%d texts, %d wrong", lines, wrong)
}

func sameCuts(t *testing.T, s Splitter, text string, want []int) bool {
	t.Helper()
	got := make([]int, len(want)+1)
	n := s.Split([]byte(text), 0, got)
	from := 0
	for i := range want {
		if i >= n || got[i] != want[i] {
			near := text[from:]
			t.Errorf("piece %d at %d of %.80q: %q, want %q", i, from, near, text[from:got[i]], text[from:want[i]])
			return false
		}
		from = want[i]
	}
	if n != len(want) {
		t.Errorf("%q: %d pieces, want %d", text, n, len(want))
	}
	return n == len(want)
}
