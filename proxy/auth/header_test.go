package auth

import (
	"bytes"
	"testing"
)

func TestFromHeader(t *testing.T) {
	t.Parallel()
	f := func(authorization, xAPIKey, want string) {
		t.Helper()
		got, ok := FromHeader([]byte(authorization), []byte(xAPIKey))
		if string(got) != want || ok != (want != "") {
			t.Errorf("FromHeader(%q, %q) = %q, %v; want %q", authorization, xAPIKey, got, ok, want)
		}
	}
	f("Bearer sk-1", "", "sk-1")
	f("bearer sk-1", "", "sk-1")
	f("BEARER\tsk-1", "", "sk-1")
	f("  Bearer   sk-1  ", "", "sk-1")
	f("", "sk-2", "sk-2")
	f("", " sk-2\t", "sk-2")
	f("Bearer sk-1", "sk-2", "sk-1")
	f("Basic dXNlcg==", "sk-2", "sk-2")
	f("Bearer ", "sk-2", "sk-2")

	f("", "", "")
	f("Bearer", "", "")
	f("Bearersk-1", "", "")
	f("Bearer a b", "", "")
	f("Bearer a,b c", "", "")
	f("Bearer sk-1\x00", "", "")
	f("Bearer schl\u00fcssel", "", "")
	f("sk-1", "", "")
	f("", "a b", "")
}

// Whatever comes in, a key is one visible word that stands in an argument, and
// it comes back unchanged when it is sent in either header.
func FuzzFromHeader(f *testing.F) {
	f.Add([]byte("Bearer sk-1"), []byte("sk-2"))
	f.Add([]byte("bEARER\t x"), []byte(" y "))
	f.Add([]byte(""), []byte(""))
	f.Fuzz(func(t *testing.T, authorization, xAPIKey []byte) {
		key, ok := FromHeader(authorization, xAPIKey)
		if !ok {
			if len(key) != 0 {
				t.Fatalf("no key, yet %q", key)
			}
			return
		}
		if len(key) == 0 || bytes.ContainsAny(key, " \t\r\n\x00") {
			t.Fatalf("key %q", key)
		}
		if !bytes.Contains(authorization, key) && !bytes.Contains(xAPIKey, key) {
			t.Fatalf("key %q is in neither header", key)
		}
		if again, ok := FromHeader(append([]byte("Bearer "), key...), nil); !ok || !bytes.Equal(again, key) {
			t.Fatalf("key %q came back as %q", key, again)
		}
		if again, ok := FromHeader(nil, key); !ok || !bytes.Equal(again, key) {
			t.Fatalf("key %q came back as %q", key, again)
		}
	})
}
