package value

import (
	"errors"
	"fmt"
	"testing"
)

func TestDictKeepsOrderThroughChanges(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 500} {
		var m Memory
		d := m.NewDict(0)
		for i := range n {
			m.Set(d, fmt.Sprint("k", i), NewInt(int64(i)))
		}
		m.Set(d, "k0", NewInt(-1))
		m.Delete(d, "k1")
		m.Delete(d, "none")
		m.Set(d, "k1", NewInt(-2))
		if key, val := d.Entry(0); string(key) != "k0" || d.Len() != n {
			t.Errorf("first %q of %d", key, d.Len())
		} else if i, _ := val.Small(); i != -1 {
			t.Errorf("k0 is %d", i)
		}
		if key, _ := d.Entry(n - 1); string(key) != "k1" {
			t.Errorf("last is %q", key)
		}
		for i := 2; i < n; i++ {
			if got, _ := d.Get(fmt.Sprint("k", i)).Small(); got != int64(i) {
				t.Fatalf("k%d is %d", i, got)
			}
		}
		c := m.Clone(d)
		m.Set(d, "new", NewNone())
		m.Delete(d, "k2")
		if c.Has("new") || !c.Has("k2") || c.Len() != n || d.Len() != n {
			t.Errorf("the clone has %d entries, the original %d", c.Len(), d.Len())
		}
	}
}

func TestKeysAreEqualAsInPython(t *testing.T) {
	t.Parallel()
	var m Memory
	d := m.NewDict(0)
	tuple := func(v ...Value) Value { return m.NewTuple(v) }
	for i := range 40 { // enough for an index
		m.SetValue(d, NewInt(int64(i)), NewNone())
	}
	for _, key := range []Value{NewBool(true), NewFloat(1), NewInt(1)} {
		m.SetValue(d, key, NewBool(true))
	}
	m.SetValue(d, tuple(NewInt(1), NewString([]byte("a"))), NewInt(7))
	if d.Len() != 41 || d.Find(tuple(NewFloat(1), NewString([]byte("a")))) != 40 || d.Find(NewString([]byte("1"))) != -1 {
		t.Errorf("%d entries, tuple at %d", d.Len(), d.Find(tuple(NewFloat(1), NewString([]byte("a")))))
	}
	if m.SetValue(d, m.NewList(0), NewNone()) || m.SetValue(d, tuple(m.NewDict(0)), NewNone()) {
		t.Error("a list or a dict is a key")
	}
}

func TestTuplesThatShareTheirElementsAreBounded(t *testing.T) {
	t.Parallel()
	var m Memory
	v, w := m.NewTuple(nil), m.NewTuple(nil)
	for range 200 {
		v, w = m.NewTuple([]Value{v, v}), m.NewTuple([]Value{w, w})
	}
	budget := 1 << 16
	if Hashable(v) || Equal(v, w, &budget) || budget >= 0 {
		t.Error("a tuple of 2^200 elements was walked")
	}
	if _, err := v.AppendStyled(nil, &Style{Limit: 1 << 16}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestListsGrow(t *testing.T) {
	t.Parallel()
	var m Memory
	list, other := m.NewList(1), m.NewList(1)
	for i := range 1000 {
		m.Add(list, NewInt(int64(i)))
		m.Add(other, NewNone())
	}
	for i := range 1000 {
		if n, _ := list.Index(i).Small(); n != int64(i) || other.Index(i).Kind() != None {
			t.Fatalf("element %d is %d", i, n)
		}
	}
}

func TestNumbersCompareExactly(t *testing.T) {
	t.Parallel()
	big := NewIntText([]byte("9007199254740993")) // 2^53+1
	f := NewFloat(9007199254740992)
	budget := 100
	if CompareNumbers(big, f) != 1 || CompareNumbers(f, big) != -1 || Equal(big, f, &budget) {
		t.Error("2^53+1 is 2^53")
	}
	if !Equal(NewInt(1), NewBool(true), &budget) || !Equal(NewFloat(1), NewBool(true), &budget) || Equal(NewInt(1), NewString([]byte("1")), &budget) {
		t.Error("1, True and 1.0 are equal")
	}
}

func TestStyledJSON(t *testing.T) {
	t.Parallel()
	var m Memory
	v, err := m.Parse([]byte(`{"b":[1,"é😀\u007f"],"a":{},"c":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	style := Style{Item: []byte(","), Key: []byte(": "), Indent: []byte("  "), Lines: ManyLines, SortKeys: Sorted, EnsureASCII: ASCII}
	got, err := v.AppendStyled(nil, &style)
	want := "{\n  \"a\": {},\n  \"b\": [\n    1,\n    \"\\u00e9\\ud83d\\ude00\\u007f\"\n  ],\n  \"c\": []\n}"
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := NewMark(1).AppendStyled(nil, &style); !errors.Is(err, ErrNotJSON) {
		t.Errorf("%v", err)
	}
}
