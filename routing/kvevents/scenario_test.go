package kvevents

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"penstock/routing/keys"
)

var update = flag.Bool("update", false, "rewrite the expected output of scenarios")

// TestScenarios runs the scripts of testdata/scenarios: paragraphs of commands, a line
// of dashes, and what the index and the feeder hear.
//
//	new replay block=2      a publisher with these options
//	connect                 Connected
//	live 3 EVENTS           Live; likewise replayed
//	end whole|cut           ReplayEnded
//	polled JSON             Polled
//	adopt PATH 1.2          Adopt
//	state                   picture, next number, sizes and counts
//
// EVENTS are separated by bars: store h=7,8 p=6 t=1.2,3.4 and more fields (see event),
// remove h=7, clear, unknown, bad; "garbage" alone is no batch. Keys are shown as paths
// of tokens from the root.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScenario(t, string(text))
			if got == string(text) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s: got\n%s", file, got)
		})
	}
}

// runScenario gives the script back with the output that it made.
func runScenario(t *testing.T, text string) string {
	var out strings.Builder
	s := &scenario{t: t, names: map[uint64]string{}}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		commands, _, hasOutput := strings.Cut(paragraph+"\n", "----\n")
		out.WriteString(commands)
		var heard strings.Builder
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				heard.WriteString(s.command(line))
			}
		}
		if hasOutput || heard.Len() > 0 {
			out.WriteString("----\n" + heard.String())
		}
		out.WriteString("\n")
	}
	return strings.TrimSpace(out.String()) + "\n"
}

type scenario struct {
	t      *testing.T
	p      *Publisher
	out    strings.Builder
	names  map[uint64]string // of keys
	blocks [][]uint32        // all that were ever stored
}

func (s *scenario) command(line string) string {
	s.out.Reset()
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "new":
		s.begin(rest)
	case "connect":
		s.asked(s.p.Connected())
	case "live":
		s.asked(s.p.Live(s.batch(rest)))
	case "replayed":
		s.p.Replayed(s.batch(rest))
	case "end":
		end := Cut
		if rest == "whole" {
			end = Whole
		}
		s.asked(s.p.ReplayEnded(end))
	case "polled":
		if err := s.p.Polled([]byte(rest)); err != nil {
			fmt.Fprintln(&s.out, err)
		}
	case "adopt":
		path, block, _ := strings.Cut(rest, " ")
		fmt.Fprintln(&s.out, "adopted:", s.p.Adopt(s.key(path), ids(block)))
	case "state":
		s.state()
	default:
		s.t.Fatalf("unknown command %q", line)
	}
	return s.out.String()
}

func (s *scenario) begin(options string) {
	o := Options{Rank: -1, Namespace: func(adapter, salt []byte) (uint64, bool) {
		name := string(adapter) + "~" + string(salt)
		if name == "~" {
			name = ""
		}
		root := keys.Namespace("model", string(adapter), string(salt))
		s.names[root] = name
		return root, string(adapter) != "stranger"
	}}
	_, _ = o.Namespace(nil, nil)
	for option := range strings.FieldsSeq(options) {
		name, value, _ := strings.Cut(option, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "replay":
			o.Replay = true
		case "block":
			o.BlockSize = n
		case "rank":
			o.Rank = n
		case "aliases":
			o.AliasBytes = n * aliasBytes
		case "orphans":
			o.OrphanBytes = n
		case "held":
			o.HeldBytes = n
		case "lost":
			o.MaxLost = uint64(n)
		case "attempts":
			o.ReplayAttempts = n
		}
	}
	p, err := New(o, s)
	if err != nil {
		s.t.Fatal(err)
	}
	s.p = p
}

func (s *scenario) asked(a Ask) {
	if a.Wanted {
		fmt.Fprintf(&s.out, "ask from %d, attempt %d\n", a.From, a.Attempt)
	}
}

func (s *scenario) state() {
	next, begun := s.p.Next()
	blocks, orphans, _ := s.p.Size()
	fmt.Fprintf(&s.out, "%v next=%d", s.p.Picture(), next)
	if !begun {
		fmt.Fprint(&s.out, " unbegun")
	}
	fmt.Fprintf(&s.out, " blocks=%d", blocks)
	if orphans > 0 {
		fmt.Fprintf(&s.out, " orphans=%d", orphans)
	}
	for _, r := range Reasons() {
		if n := s.p.Count(r); n > 0 {
			fmt.Fprintf(&s.out, " %v=%d", r, n)
		}
	}
	fmt.Fprintln(&s.out)
}

func (s *scenario) Stored(k []uint64, t Tier) { s.show("stored "+t.String(), k) }

func (s *scenario) Removed(k []uint64, t Tier) { s.show("removed "+t.String(), k) }

func (s *scenario) Cleared() { fmt.Fprintln(&s.out, "cleared") }

func (s *scenario) Restarted() { fmt.Fprintln(&s.out, "restarted") }

func (s *scenario) show(what string, list []uint64) {
	fmt.Fprint(&s.out, what)
	for _, k := range list {
		if s.names[k] == "" {
			s.nameAll()
		}
		fmt.Fprint(&s.out, " ", s.names[k])
	}
	fmt.Fprintln(&s.out)
}

// nameAll names what follows the keys with names.
func (s *scenario) nameAll() {
	known := maps.Clone(s.names)
	for k, name := range known {
		for _, block := range s.blocks {
			child := keys.Chain(k, block)
			if s.names[child] == "" && strings.Count(name, "/") < 5 {
				s.names[child] = name + "/" + strings.Trim(strings.ReplaceAll(fmt.Sprint(block), " ", "."), "[]")
			}
		}
	}
	if len(s.names) > len(known) {
		s.nameAll()
	}
}

func (s *scenario) key(path string) uint64 {
	s.nameAll()
	for k, name := range s.names {
		if name == strings.TrimSuffix(path, "/") {
			return k
		}
	}
	s.t.Fatalf("unknown path %q", path)
	return 0
}

// batch reads "SEQ EVENTS". The clock of the engine stands still, so that a batch that
// comes again is the same.
func (s *scenario) batch(text string) (seq uint64, payload []byte) {
	number, rest, _ := strings.Cut(text, " ")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	if rest == "garbage" {
		return seq, []byte{0xc1}
	}
	var rank any
	var events []any
	for event := range strings.SplitSeq(rest, " | ") {
		if r, ok := strings.CutPrefix(event, "rank="); ok {
			rank, _ = strconv.Atoi(r)
			continue
		}
		if event != "" {
			events = append(events, s.event(event))
		}
	}
	return seq, packBatch(1.5, rank, events...)
}

func ids(block string) []uint32 {
	var out []uint32
	for id := range strings.SplitSeq(block, ".") {
		n, _ := strconv.ParseUint(id, 10, 32)
		out = append(out, uint32(n))
	}
	return out
}

func (s *scenario) event(text string) any {
	name, rest, _ := strings.Cut(text, " ")
	tags := map[string]string{"store": "BlockStored", "remove": "BlockRemoved", "clear": "AllBlocksCleared"}
	if tags[name] == "" {
		return map[string]any{"unknown": pairs{"type", "BlockPainted"}, "bad": pairs{"type", "BlockRemoved"}}[name]
	}
	e := pairs{"type", tags[name]}
	size := 2
	for f := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(f, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "h":
			var hashes []any
			for h := range strings.SplitSeq(value, ",") {
				v, _ := strconv.Atoi(h)
				hashes = append(hashes, v)
			}
			e = append(e, "block_hashes", hashes)
		case "p":
			e = append(e, "parent_block_hash", n)
		case "t":
			var tokens []any
			for block := range strings.SplitSeq(value, ",") {
				s.blocks = append(s.blocks, ids(block))
				tokens = append(tokens, anys(ids(block))...)
			}
			e = append(e, "token_ids", tokens)
		case "b":
			size = n
		case "m":
			e = append(e, "medium", value)
		case "g":
			e = append(e, "group_idx", n)
		case "spec":
			e = append(e, "kv_cache_spec_kind", value)
		case "lora":
			e = append(e, "lora_name", value, "lora_id", 1)
		case "loraid":
			e = append(e, "lora_id", n)
		case "salt":
			e = append(e, "cache_salt", value)
		case "x": // extra keys per block: - for none, a string, or a pair of string and offset
			var extras []any
			for x := range strings.SplitSeq(value, ",") {
				id, offset, pair := strings.Cut(x, "@")
				switch {
				case x == "-":
					extras = append(extras, nil)
				case pair:
					at, _ := strconv.Atoi(offset)
					extras = append(extras, []any{[]any{id, at}})
				default:
					extras = append(extras, []any{id})
				}
			}
			e = append(e, "extra_keys", extras)
		default:
			s.t.Fatalf("unknown field %q", f)
		}
	}
	if name == "store" {
		e = append(e, "block_size", size)
	}
	return e
}
