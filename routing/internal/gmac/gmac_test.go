package gmac

import "testing"

func TestTagsDependOnSecretStartAndText(t *testing.T) {
	t.Parallel()
	secrets := [2][SecretSize]byte{{1}, {2}}
	seen := map[Tag]bool{}
	var s Scratch
	for i := range secrets {
		k, err := New(secrets[i][:])
		if err != nil {
			t.Fatal(err)
		}
		for _, start := range []Tag{{}, {1}, {15: 1}} {
			for _, text := range []string{"", "a", "b", "ab"} {
				tag := k.Next(&s, start, []byte(text))
				if seen[tag] {
					t.Errorf("%d, %v, %q: a tag twice", i, start, text)
				}
				seen[tag] = true
				if k.Next(&s, start, []byte(text)) != tag {
					t.Errorf("%d, %v, %q: another tag", i, start, text)
				}
			}
		}
	}
}

func TestSecretsHaveOneSize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 15, 17, 32} {
		if _, err := New(make([]byte, n)); err == nil {
			t.Errorf("%d bytes", n)
		}
	}
}

func TestTagsDoNotAllocate(t *testing.T) {
	k, err := New(make([]byte, SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	s, text, tag := &Scratch{}, make([]byte, 1000), Tag{}
	if n := testing.AllocsPerRun(100, func() { tag = k.Next(s, tag, text) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
