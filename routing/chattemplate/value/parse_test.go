package value

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestParseReadsAsPythonDoes(t *testing.T) {
	t.Parallel()
	f := func(body, want string) {
		t.Helper()
		var m Memory
		v, err := m.Parse([]byte(body))
		if err != nil {
			t.Errorf("Parse(%s): %v", body, err)
			return
		}
		if got := string(v.AppendJSON(nil)); got != want {
			t.Errorf("Parse(%s) = %s, want %s", body, got, want)
		}
	}
	f(` {"b" : 1,"a":[true ,false,null], "b":2} `, `{"b": 2, "a": [true, false, null]}`)
	f(`[1.0, 1e22, 1E5, -0.0, -0, 0, 1e16, 123456789012345.0, 0.0001, 0.00001]`,
		`[1.0, 1e+22, 100000.0, -0.0, 0, 0, 1e+16, 123456789012345.0, 0.0001, 1e-05]`)
	f(`[18446744073709551615, 1000000000000000000000000000000, -2147483648, 4294967296]`,
		`[18446744073709551615, 1000000000000000000000000000000, -2147483648, 4294967296]`)
	f(`[NaN, Infinity, -Infinity, 1e999]`, `[NaN, Infinity, -Infinity, Infinity]`)
	f(`"a\"b\\c\/d\b\f\n\r\t\u0001\u007f\u00e9\ud83d\ude00 é😀"`,
		`"a\"b\\c/d\b\f\n\r\t\u0001`+"\u007f"+`é😀 é😀"`)
	f(`"\\"`, `"\\"`)
	f(`["\\\"", "x\\\\"]`, `["\\\"", "x\\\\"]`)
	f(`{}`, `{}`)
	f(`[]`, `[]`)
	f(`[[],{}]`, `[[], {}]`)
}

func TestParseRefusesWhatPythonRefuses(t *testing.T) {
	t.Parallel()
	f := func(body string, want error) {
		t.Helper()
		var m Memory
		if v, err := m.Parse([]byte(body)); !errors.Is(err, want) {
			t.Errorf("Parse(%.40q) = %s, %v, want %v", body, v.AppendJSON(nil), err, want)
		}
	}
	for _, body := range []string{
		``, ` `, `{`, `[`, `[1`, `[1,`, `[1,]`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `"`, `"a`, `"\"`, `"\x"`,
		`"\u12"`, `"\u12g4"`, `01`, `-`, `1.`, `.5`, `1e`, `1e+`, `+1`, `tru`, `nul`, `1 2`, `{} x`, `'a'`, `Infini`, `-Infini`, "\ufeff1",
		strings.Repeat("1", 4301),
	} {
		f(body, ErrSyntax)
	}
	f(`"\ud800"`, ErrSurrogate)
	f(`"\ud800\u0041"`, ErrSurrogate)
	f(`"\udc00"`, ErrSurrogate)
	f(strings.Repeat("[", 100000), ErrDepth)
	f(strings.Repeat(`{"a":`, 100000), ErrDepth)
}

func TestRepeatedKeysOfALargeDictKeepTheFirstPlace(t *testing.T) {
	t.Parallel()
	var body, want bytes.Buffer
	body.WriteString(`{`)
	want.WriteString(`{`)
	for i := range 5000 {
		fmt.Fprintf(&body, `"k%d":%d,`, i%1000, i)
		if i < 1000 {
			fmt.Fprintf(&want, `"k%d": %d, `, i, i+4000)
		}
	}
	body.WriteString(`"z":0}`)
	want.WriteString(`"z": 0}`)
	var m Memory
	v, err := m.Parse(body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(v.AppendJSON(nil)); got != want.String() {
		t.Errorf("got %.200s", got)
	}
	if n, _ := v.Get("k999").Small(); n != 4999 {
		t.Errorf("k999 is %d", n)
	}
}

func TestParseIsFreeOfAllocationsWhenWarm(t *testing.T) {
	body := conversation(200, 2000)
	var m Memory
	if _, err := m.Parse(body); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() {
		m.Reset()
		if _, err := m.Parse(body); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestResetGivesGiantMemoryBack(t *testing.T) {
	t.Parallel()
	var m Memory
	if _, err := m.Parse([]byte(`[` + strings.Repeat(`{"a":"\n"},`, 1<<20) + `1]`)); err != nil {
		t.Fatal(err)
	}
	m.Reset()
	if kept := cap(m.values.chunk) + cap(m.entries.chunk) + cap(m.objects.chunk) + cap(m.stack) + cap(m.pending); kept > 1<<20 {
		t.Errorf("kept %d elements", kept)
	}
}

// conversation is a chat of some messages of about size bytes, with a line break
// every 60 bytes or so.
func conversation(messages, size int) []byte {
	line := "The quick brown fox jumps over the lazy dog, again and again."
	text := strings.Repeat(line+`\n`, size/len(line))
	var b bytes.Buffer
	b.WriteString(`{"model":"m","messages":[`)
	for i := range messages {
		if i > 0 {
			b.WriteByte(',')
		}
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		fmt.Fprintf(&b, `{"role":%q,"content":"%s"}`, role, text)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// program is a chat about source code: escapes come at irregular distances.
func program(messages, size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString(`{"model":"m","messages":[`)
	for i := range messages {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"role":"user","content":"`)
		for start := b.Len(); b.Len()-start < size; {
			b.WriteString("abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 ()[]{}"[:random.IntN(70)])
			b.WriteString([]string{`\n`, `\n\t`, `\"`, `\n\n`, `\u00e9`}[random.IntN(21)/5])
		}
		b.WriteString(`"}`)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for name, body := range map[string][]byte{"text": conversation(200, 2000), "code": program(200, 2000)} {
		b.Run(name, func(b *testing.B) {
			var m Memory
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				m.Reset()
				if _, err := m.Parse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzParse holds that what was read and written reads and writes the same again, and
// that the memory taken is bounded by the body.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,"x\n",null,true],"a":{}}`, `"\ud83d\ude00"`, `[NaN,-Infinity,1e400,10000000000000000000000]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var m, again Memory
		v, err := m.Parse(body)
		if err != nil {
			return
		}
		if used := m.Used(); used > 512*(len(body)+8) {
			t.Errorf("%d bytes took %d", len(body), used)
		}
		first := v.AppendJSON(nil)
		w, err := again.Parse(first)
		if err != nil {
			t.Fatalf("cannot read %q: %v", first, err)
		}
		if second := w.AppendJSON(nil); !bytes.Equal(first, second) {
			t.Errorf("%q became %q", first, second)
		}
		if budget := 1 << 30; !bytes.Contains(first, []byte("NaN")) && !Equal(v, w, &budget) {
			t.Errorf("%q is not equal to itself read again", first)
		}
	})
}
