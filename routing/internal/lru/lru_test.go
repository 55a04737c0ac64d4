package lru

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLeastRecentlyUsedGoFirst(t *testing.T) {
	t.Parallel()
	c := New[string, int](30)
	c.Put("a", 1, 10)
	c.Put("b", 2, 10)
	c.Put("c", 3, 10)
	if v := c.Get("a"); v == nil || *v != 1 {
		t.Fatal(v)
	}
	c.Put("a", 9, 10) // it is there
	c.Put("d", 4, 10)
	c.Put("e", 5, 31) // never fits
	for k, want := range map[string]int{"a": 1, "b": 0, "c": 3, "d": 4, "e": 0} {
		if v := c.Get(k); (v == nil) != (want == 0) || v != nil && *v != want {
			t.Errorf("%s: %v, want %d", k, v, want)
		}
	}
	if c.Len() != 3 || c.Bytes() != 30 {
		t.Errorf("%d entries, %d bytes", c.Len(), c.Bytes())
	}
	c.Resize(9)
	if c.Len() != 0 || c.Bytes() != 0 {
		t.Errorf("%d entries, %d bytes", c.Len(), c.Bytes())
	}
	c.Resize(10)
	c.Put("f", 6, 10)
	c.Clear()
	if c.Get("f") != nil || c.Bytes() != 0 {
		t.Error("not cleared")
	}
}

// TestCacheIsAModel compares with a slice by use.
func TestCacheIsAModel(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	c := New[int, int](50)
	var model []int // keys, oldest first; each counts as 10
	use := func(k int) bool {
		i := slices.Index(model, k)
		if i < 0 {
			return false
		}
		model = append(slices.Delete(model, i, i+1), k)
		return true
	}
	for range 5000 {
		k := random.IntN(12)
		if random.IntN(2) == 0 {
			if got := c.Get(k) != nil; got != use(k) {
				t.Fatalf("key %d: %v", k, got)
			}
			continue
		}
		c.Put(k, k, 10)
		if !slices.Contains(model, k) {
			model = append(model, k)
			model = model[max(0, len(model)-5):]
		}
		if c.Len() != len(model) || c.Bytes() != int64(10*len(model)) {
			t.Fatalf("%d entries of %d bytes, want %d", c.Len(), c.Bytes(), len(model))
		}
	}
}
