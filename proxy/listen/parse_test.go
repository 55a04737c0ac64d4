package listen

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestInheritedNames(t *testing.T) {
	t.Parallel()
	f := func(pid, count, names, want string) {
		t.Helper()
		got, err := inheritedNames(pid, count, names, 42)
		said := strings.Join(got, ",")
		if err != nil {
			said = "error"
		}
		if said != want {
			t.Errorf("pid %q, count %q, names %q: got %q (%v), want %q", pid, count, names, said, err, want)
		}
	}
	f("", "", "", "")
	f("42", "", "", "")
	f("41", "2", "a:b", "") // meant for another process
	f("42", "0", "", "")
	f("42", "2", "data:admin", "data,admin")
	f("42", "2", "", "unknown,unknown#2")
	f("42", "3", "data:data:", "data,data#2,unknown")
	f("42", "2", "data", "error")
	f("42", "-1", "", "error")
	f("42", "65", "", "error")
	f("42", "x", "", "error")
	f("42", "1", "data#2", "error")
}

func FuzzInheritedNames(f *testing.F) {
	f.Add("2", "data:admin")
	f.Add("3", "::")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, count, names string) {
		got, err := inheritedNames("1", count, names, 1)
		if err != nil {
			if got != nil {
				t.Errorf("names %q with error %v", got, err)
			}
			return
		}
		if n, err := strconv.Atoi(count); err == nil && n != len(got) {
			t.Errorf("%d names for %d descriptors", len(got), n)
		}
		sorted := slices.Sorted(slices.Values(got))
		if len(slices.Compact(sorted)) != len(got) || len(got) > 0 && sorted[0] == "" {
			t.Errorf("names %q are not all different and not empty", got)
		}
	})
}

func TestDecodeOfferRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := func(text string) {
		t.Helper()
		if names, err := decodeOffer([]byte(text)); err == nil {
			t.Errorf("%s gave %q", text, names)
		}
	}
	f(``)
	f(`{}`)
	f(`{"version":2,"names":["data"]}`)
	f(`{"version":1,"names":[""]}`)
	f(`{"version":1,"names":["a","a"]}`)
	f(`{"version":1,"names":[` + strings.Repeat(`"a",`, maxInherited) + `"a"]}`)
	if _, err := encodeOffer(make([]string, maxInherited+1)); err == nil {
		t.Error("too many listeners were offered")
	}
	if _, err := encodeOffer([]string{strings.Repeat("x", maxOffer)}); err == nil {
		t.Error("an offer longer than the receiver's buffer was made")
	}
}

func FuzzDecodeOffer(f *testing.F) {
	f.Add([]byte(`{"version":1,"names":["data","admin"]}`))
	f.Add([]byte(`{"version":1,"names":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		names, err := decodeOffer(text)
		if err != nil {
			return
		}
		again, err := encodeOffer(names)
		if err != nil { // long names, escaped
			return
		}
		back, err := decodeOffer(again)
		if err != nil || !slices.Equal(back, names) {
			t.Errorf("%q came back as %q, %v", names, back, err)
		}
	})
}
