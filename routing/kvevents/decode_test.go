package kvevents

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fixture is a line of what testdata/gen.py wrote.
type fixture struct {
	Name    string
	Events  []map[string]json.RawMessage
	Payload string
}

func (f *fixture) payload(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(f.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fixtures(t testing.TB, engine string) []fixture {
	t.Helper()
	text, err := os.ReadFile("testdata/" + engine + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []fixture
	for line := range bytes.Lines(text) {
		var f fixture
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// TestEventsOfEnginesAreRead decodes what the engines' own classes wrote. Hashes and
// tokens are compared with the source, the rest with testdata/decoded.txt.
func TestEventsOfEnginesAreRead(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, engine := range []string{"vllm", "sglang", "old"} {
		for _, f := range fixtures(t, engine) {
			var b Batch
			if err := b.Decode(f.payload(t)); err != nil {
				t.Errorf("%s %s: %v", engine, f.Name, err)
				continue
			}
			fmt.Fprintf(&out, "%s %s: time %v, rank %d\n", engine, f.Name, b.Time, b.Rank)
			if len(b.Events) != len(f.Events) {
				t.Errorf("%s %s: %d events, want %d", engine, f.Name, len(b.Events), len(f.Events))
				continue
			}
			for i := range b.Events {
				e := &b.Events[i]
				compare(t, engine+" "+f.Name, e, f.Events[i])
				fmt.Fprintf(&out, "  kind %d %v group %d spec %d block %d parent %v plain %v extras %v adapter %q salt %q unnamed %v\n",
					e.Kind, e.Tier, e.Group, e.Spec, e.BlockSize, e.HasParent, e.PlainTokens, e.Extras, e.Adapter, e.Salt, e.UnnamedAdapter)
			}
		}
	}
	golden(t, "testdata/decoded.txt", out.Bytes())
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %v, got\n%s", file, err, got)
	}
}

func compare(t *testing.T, name string, e *Event, source map[string]json.RawMessage) {
	t.Helper()
	var hashes []json.RawMessage
	var tokens []json.RawMessage
	_ = json.Unmarshal(source["block_hashes"], &hashes)
	_ = json.Unmarshal(source["token_ids"], &tokens)
	if len(hashes) != len(e.Hashes) || len(tokens) != len(e.Tokens) {
		t.Errorf("%s: %d hashes and %d tokens, want %d and %d", name, len(e.Hashes), len(e.Tokens), len(hashes), len(tokens))
		return
	}
	for i, h := range hashes {
		if want := sourceHash(string(h)); e.Hashes[i] != want {
			t.Errorf("%s: hash %d, want %s", name, e.Hashes[i], h)
		}
	}
	for i, token := range tokens {
		first, _, _ := strings.Cut(strings.Trim(string(token), "[]"), ",") // of a pair
		if want, _ := strconv.ParseUint(first, 10, 32); e.Tokens[i] != uint32(want) {
			t.Errorf("%s: token %d, want %s", name, e.Tokens[i], token)
		}
	}
}

func sourceHash(text string) uint64 {
	if digest, ok := strings.CutPrefix(strings.Trim(text, `"`), "0x"); ok {
		b, _ := hex.DecodeString(digest)
		return hashOf(b)
	}
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return uint64(v)
	}
	v, _ := strconv.ParseUint(text, 10, 64)
	return v
}

// What is not known is passed over, whatever it is; what is known is found, wherever it
// stands.
func TestUnknownShapesAreTolerated(t *testing.T) {
	t.Parallel()
	odd := []any{nil, true, -1, 1.5, "text", []byte("bin"), []any{[]any{1}, pairs{"a", nil}}, pairs{1, 2}}
	f := func(name string, payload []byte, want Kind) {
		t.Helper()
		var b Batch
		if err := b.Decode(payload); err != nil || len(b.Events) != 1 || b.Events[0].Kind != want {
			t.Errorf("%s: %v, %+v, want kind %d", name, err, b.Events, want)
		}
	}
	for i, v := range odd {
		name := fmt.Sprint(i)
		f(name+" after the batch", pack(nil, []any{1.5, []any{[]any{"AllBlocksCleared"}}, nil, v, v}), KindCleared)
		f(name+" as time and rank", pack(nil, []any{v, []any{[]any{"AllBlocksCleared"}}, v}), KindCleared)
		f(name+" after an array", packBatch(1, 0, []any{"BlockRemoved", []any{1}, "GPU", nil, v, v}), KindRemoved)
		f(name+" in a map", packBatch(1, 0, pairs{"new", v, "block_hashes", []any{1}, "type", "BlockRemoved", 7, v}), KindRemoved)
		f(name+" in a new event", packBatch(1, 0, []any{"BlockPainted", v}), KindUnknown)
	}
	f("batch as a map", pack(nil, pairs{"events", []any{pairs{"type", "AllBlocksCleared"}}, "x", 1}), KindCleared)
	f("no hashes", packBatch(1, 0, pairs{"type", "BlockRemoved"}), KindMalformed)
	f("hashes of another kind", packBatch(1, 0, []any{"BlockRemoved", []any{1.5}}), KindMalformed)
	f("size of another kind", packBatch(1, 0, pairs{"type", "BlockStored", "block_hashes", []any{1}, "block_size", "x"}), KindMalformed)
	f("no tag", packBatch(1, 0, pairs{"block_hashes", []any{1}}), KindMalformed)
	f("empty", packBatch(1, 0, []any{}), KindMalformed)
	f("number", packBatch(1, 0, 7), KindMalformed)
	ext := []byte{0x93, 0xc0, 0x91, 0x92, 0xb0}
	ext = append(append(ext, "AllBlocksCleared"...), 0xd6, 1, 2, 3, 4, 5) // an extension value in the event
	f("extension", append(ext, 0xc7, 2, 9, 1, 1), KindCleared)
}

func TestMalformedPayloadsAreRefused(t *testing.T) {
	t.Parallel()
	deep := append([]byte{0x93, 0xc0, 0x90}, bytes.Repeat([]byte{0x91}, 1000)...)
	for name, payload := range map[string][]byte{
		"empty": nil, "number": {1}, "reserved byte": {0xc1}, "trailing": append(packBatch(1, 0), 0),
		"events are no list": pack(nil, []any{1.5, 7}), "long array": {0xdd, 0xff, 0xff, 0xff, 0xff},
		"long string": {0x92, 0xdb, 0xff, 0xff, 0xff, 0xff}, "deep": append(deep, 0xc0),
		"long map": {0xdf, 0x7f, 0xff, 0xff, 0xff, 0},
	} {
		b := Batch{Events: make([]Event, 3)}
		if err := b.Decode(payload); err == nil || len(b.Events) > 0 {
			t.Errorf("%s: %v, %+v", name, err, b.Events)
		}
	}
	for _, f := range fixtures(t, "vllm") {
		payload := f.payload(t)
		for n := range payload {
			if err := new(Batch).Decode(payload[:n]); err == nil {
				t.Errorf("%s cut at %d is accepted", f.Name, n)
			}
		}
	}
}

// A decoded batch never holds more than its payload can say, and decoding again into
// used memory gives the same.
func FuzzDecode(f *testing.F) {
	for _, engine := range []string{"vllm", "sglang", "old"} {
		for _, x := range fixtures(f, engine) {
			f.Add(x.payload(f))
		}
	}
	var used Batch
	f.Fuzz(func(t *testing.T, payload []byte) {
		var b Batch
		err, again := b.Decode(payload), used.Decode(payload)
		if (err == nil) != (again == nil) || fmt.Sprint(b.Events) != fmt.Sprint(used.Events) {
			t.Fatalf("%v %+v, in used memory %v %+v", err, b.Events, again, used.Events)
		}
		elements := 0
		for _, e := range b.Events {
			elements += 1 + len(e.Hashes) + len(e.Tokens) + len(e.Extras)
		}
		if elements > len(payload) {
			t.Fatalf("%d elements from %d bytes", elements, len(payload))
		}
	})
}

// FuzzPolled holds the reader of TensorRT-LLM's events to not failing on anything.
func FuzzPolled(f *testing.F) {
	f.Add([]byte(`[{"event_id":1,"data":{"type":"stored","parent_hash":1,"blocks":[{"block_hash":"ff","tokens":[{"token_id":1}]}]}}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		w := newWorld(t, 1)
		err := w.p.Polled(body)
		if !json.Valid(body) && err == nil {
			t.Fatal("accepted")
		}
	})
}

// FuzzScan holds skip to the ends of values: skipping each of a list arrives at its end.
func FuzzScan(f *testing.F) {
	f.Add(packBatch(1, 0, pairs{"type", "x"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, parts := reader{data: data}, reader{data: data}
		whole.skip()
		if parts.peek() != kindArray || whole.bad {
			return
		}
		for range parts.array() {
			parts.skip()
		}
		if !parts.bad && !slices.Equal(parts.data, whole.data) {
			t.Fatal("parts end elsewhere than the whole")
		}
	})
}

func TestTiersOfMedia(t *testing.T) {
	t.Parallel()
	for medium, want := range map[string]Tier{
		"": TierDevice, "GPU": TierDevice, "gpu": TierDevice, "CPU": TierHost, "CPU_PINNED": TierHost, "cpu_tier1": TierHost,
		"DISK": TierDisk, "STORAGE": TierDisk, "EXTERNAL": TierRemote, "OBJ": TierRemote, "TAPE": TierUnknown,
	} {
		if got := tierOf([]byte(medium)); got != want {
			t.Errorf("%q is %v, want %v", medium, got, want)
		}
	}
	scanner := bufio.NewScanner(strings.NewReader("unknown device host disk remote"))
	scanner.Split(bufio.ScanWords)
	for i := 0; scanner.Scan(); i++ {
		if got := Tier(i).String(); got != scanner.Text() {
			t.Errorf("tier %d is %q", i, got)
		}
	}
}
