package loadgen

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

func split(t interface{ Fatal(...any) }, stream []byte, step int) []string {
	var e events
	var got []string
	for len(stream) > 0 {
		n := min(step, len(stream))
		if err := e.feed(stream[:n], func(d []byte) error { got = append(got, string(d)); return nil }); err != nil {
			t.Fatal(err)
		}
		stream = stream[n:]
	}
	return got
}

func TestEventsDoNotDependOnReads(t *testing.T) {
	t.Parallel()
	stream := []byte("id: 1\r\ndata: a\r\n\r\n: c\n\ndata:b\ndata: c\n\nevent: x\ndata:\n\ndata: tail")
	want := []string{"a", "b\nc", ""}
	for step := 1; step <= len(stream); step++ {
		if got := split(t, stream, step); !reflect.DeepEqual(got, want) {
			t.Fatalf("reads of %d bytes: %q, want %q", step, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(good), 3)
	f.Add([]byte("data: a\r\n\r\ndata:\n\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, step int) {
		whole := split(t, stream, max(1, len(stream)))
		if got := split(t, stream, 1+(step&0xff)); !reflect.DeepEqual(got, whole) {
			t.Fatalf("in parts %q, whole %q", got, whole)
		}
		var j judge
		for _, d := range whole { // never panics
			_ = j.event([]byte(d), time.Time{})
		}
	})
}

func TestMember(t *testing.T) {
	t.Parallel()
	f := func(data, key, want string) {
		t.Helper()
		if got := member([]byte(data), key); !bytes.HasPrefix(got, []byte(want)) || (want == "") != (got == nil) {
			t.Errorf("member(%s, %s) = %q, want %q", data, key, got, want)
		}
	}
	f(`{"a":1}`, "a", "1}")
	f(`{"x":{"a" : "v"}}`, "a", `"v"`)
	f(`{"x":"\"a\":1"}`, "a", "")
	f(`{"x":"a","y":2}`, "a", "")
	f(`{"ba":1,"a":2}`, "a", "2")
	f(`{"a"`, "a", "")
	f(``, "a", "")
}

func TestEventDoesNotAllocate(t *testing.T) {
	if raced {
		t.Skip("the race detector makes the pool inside json.Valid drop values")
	}
	j := judge{gaps: make([]int64, 0, 1<<16)}
	data := []byte(`{"id":"x","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}`)
	now := time.Now()
	if n := testing.AllocsPerRun(100, func() { _ = j.event(data, now) }); n != 0 {
		t.Fatalf("%.0f allocations per event, want 0", n)
	}
}
