package trace

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	f := func(name, file string, requests int, last time.Duration, check func(q *Request) bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, err := Open(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			if len(tr.Requests) != requests || tr.Duration().Truncate(time.Millisecond) != last {
				t.Fatalf("got %d requests over %s, want %d over %s", len(tr.Requests), tr.Duration(), requests, last)
			}
			if !check(&tr.Requests[1]) {
				t.Fatalf("unexpected second request %+v", tr.Requests[1])
			}
		})
	}
	f("mooncake", "mooncake_conversation_head.jsonl", 40, 12*time.Second, func(q *Request) bool {
		return q.Input == 7322 && q.Output == 490 && len(q.Blocks) == 15 && q.Blocks[1] == 14
	})
	f("azure", "azure2023_conv_head.csv", 30, 19913*time.Millisecond, func(q *Request) bool {
		return q.Input == 396 && q.Output == 109 && q.Blocks == nil
	})
	f("text", "text.jsonl", 3, 2*time.Second, func(q *Request) bool {
		return q.Session == "b" && q.At == 250*time.Millisecond && strings.Contains(q.Messages[0].Content, "\"penstock\"?\n")
	})
}

func TestReadCompressed(t *testing.T) {
	t.Parallel()
	plain, err := os.ReadFile("testdata/text.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Read("x", bytes.NewReader(w.EncodeAll(plain, nil)))
	if err != nil || len(tr.Requests) != 3 {
		t.Fatalf("got %v, %v", tr, err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	f := func(name, text, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read("x", strings.NewReader(text))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("got error %v, want one with %q", err, want)
			}
		})
	}
	f("broken JSON with its line", "{\"timestamp\":1,\"input_length\":5}\n{\"timesta", "line 2")
	f("unknown fields only", `{"prompt":"x"}`, "line 1: want timestamp")
	f("negative length", `{"timestamp":1,"input_length":-5}`, "out of range")
	f("negative time", `{"timestamp":-1,"input_length":5}`, "time stamp")
	f("bad Azure number", azureHeader+"\n2023-11-16 18:15:46.6805900,a,1\n", "line 2")
	if _, err := Read("x", strings.NewReader("\n\n")); !errors.Is(err, ErrEmpty) {
		t.Fatalf("got %v, want ErrEmpty", err)
	}
}

func TestSessionNumbersAndStrings(t *testing.T) {
	t.Parallel()
	tr, err := Read("x", strings.NewReader(`{"timestamp":2,"input_length":5,"session":63}
{"timestamp":1,"input_length":5,"session":"s"}
{"timestamp":3,"input_length":5,"session":null}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range tr.Requests {
		got = append(got, q.Session)
	}
	if strings.Join(got, ",") != "s,63," || tr.Requests[0].At != 0 {
		t.Fatalf("got sessions %q, first at %s", got, tr.Requests[0].At)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"text.jsonl", "azure2023_conv_head.csv", "mooncake_conversation_head.jsonl"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 1000)])
	}
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := Read("fuzz", bytes.NewReader(data))
		if err != nil {
			return
		}
		last := time.Duration(0)
		for _, q := range tr.Requests {
			if q.At < last || q.Input < 0 || q.Output < 0 {
				t.Fatalf("request %+v after %s", q, last)
			}
			last = q.At
		}
		if tr.Requests[0].At != 0 {
			t.Fatalf("the trace starts at %s", tr.Requests[0].At)
		}
	})
}
