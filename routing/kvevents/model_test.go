package kvevents

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"penstock/routing/keys"
)

// world is an engine, its publisher and the network between it and a Publisher: batches
// get lost, come twice, processes end, connections break, replays are cut or full of
// holes.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	p     *Publisher
	index map[uint64]bool

	lives  []*process
	stream []delivery // what the live connection still has to deliver
	last   delivery   // for repetitions
	away   bool       // the process behind the connection has ended
	keep   int        // batches that a publisher remembers
	asked  bool
	from   uint64
	replay []delivery // what the replay still has to deliver
	served bool
	log    []string
}

type delivery struct {
	seq     uint64
	payload []byte
}

// process is one life of the engine.
type process struct {
	batches []delivery
	after   []map[uint64]int // what is held after each batch
	nodes   []node           // that are or were held
	held    map[uint64]int   // copies, by key
}

type node struct{ hash, key uint64 }

func (w *world) Stored(k []uint64, _ Tier) {
	for _, key := range k {
		w.index[key] = true
	}
}

func (w *world) Removed(k []uint64, _ Tier) {
	for _, key := range k {
		delete(w.index, key)
	}
}

func (w *world) Cleared() { clear(w.index) }

func (w *world) Restarted() { clear(w.index) }

func newWorld(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &world{t: t, rng: rng, index: map[uint64]bool{}, keep: []int{0, 2, 5, 1000}[rng.IntN(4)]}
	p, err := New(Options{
		BlockSize: 1, Rank: -1, Replay: w.keep > 0, ReplayAttempts: 1 + rng.IntN(3), MaxLost: uint64(1 + rng.IntN(10)),
		AliasBytes:  aliasBytes * minSlots << rng.IntN(3),
		OrphanBytes: 200 + rng.IntN(2000), HeldBytes: 50 + rng.IntN(2000),
		Namespace: func(_, _ []byte) (uint64, bool) { return 1, true },
	}, w)
	if err != nil {
		t.Fatal(err)
	}
	w.p = p
	w.lives = []*process{{held: map[uint64]int{}}}
	return w
}

func (w *world) engine() *process { return w.lives[len(w.lives)-1] }

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// work lets the engine do something and publish it.
func (w *world) work() {
	e := w.engine()
	var events []any
	for range w.rng.IntN(3) {
		events = append(events, w.change(e))
	}
	d := delivery{uint64(len(e.batches)), packBatch(float64(len(w.lives)*1000+len(e.batches)), nil, events...)}
	e.batches = append(e.batches, d)
	e.after = append(e.after, maps.Clone(e.held))
	if !w.away && w.rng.IntN(8) > 0 { // else lost
		w.stream = append(w.stream, d)
	}
}

// change is one change of the cache and its event.
func (w *world) change(e *process) any {
	switch w.rng.IntN(20) {
	case 0:
		clear(e.held)
		return []any{"AllBlocksCleared"}
	case 1, 2, 3, 4, 5, 6, 7:
		return w.evict(e)
	}
	parent := node{0, 1}
	var wire any
	if len(e.nodes) > 0 && w.rng.IntN(3) > 0 {
		if n := e.nodes[w.rng.IntN(len(e.nodes))]; e.held[n.key] > 0 {
			parent, wire = n, n.hash
		}
	}
	var hashes, tokens []any
	for range 1 + w.rng.IntN(3) {
		token := uint32(w.rng.IntN(6))
		key := keys.Chain(parent.key, []uint32{token})
		parent = node{key * 3, key}
		e.nodes = append(e.nodes, parent)
		e.held[key]++
		hashes, tokens = append(hashes, parent.hash), append(tokens, int(token))
	}
	return []any{"BlockStored", hashes, wire, tokens, 1, nil, "GPU"}
}

func (w *world) evict(e *process) any {
	var hashes []any
	for range w.rng.IntN(4) {
		if len(e.nodes) == 0 {
			break
		}
		n := e.nodes[w.rng.IntN(len(e.nodes))]
		if e.held[n.key] > 0 {
			if e.held[n.key]--; e.held[n.key] == 0 {
				delete(e.held, n.key)
			}
			hashes = append(hashes, n.hash)
		}
	}
	return []any{"BlockRemoved", hashes, "GPU"}
}

// take does what the Publisher asks for.
func (w *world) take(a Ask) {
	if a.Wanted {
		w.note("ask from %d", a.From)
		w.asked, w.served, w.from = true, false, a.From
	}
}

func (w *world) deliver() {
	if len(w.stream) == 0 {
		return
	}
	w.last, w.stream = w.stream[0], w.stream[1:]
	w.note("live %d", w.last.seq)
	w.take(w.p.Live(w.last.seq, w.last.payload))
}

func (w *world) connect() {
	w.note("connect to life %d", len(w.lives)-1)
	w.stream, w.last, w.away = nil, delivery{}, false
	w.take(w.p.Connected())
}

func (w *world) restart() {
	w.note("the engine restarts")
	w.lives = append(w.lives, &process{held: map[uint64]int{}})
	w.away = true
	if !w.served { // a request dies with its process
		return
	}
	w.replay = nil
	w.end(Cut)
}

// serve answers the replay that was asked for; lossy: with holes at its end.
func (w *world) serve(lossy bool) {
	if !w.asked || w.served {
		return
	}
	w.served = true
	e := w.engine()
	for i := max(0, len(e.batches)-w.keep); i < len(e.batches); i++ {
		if e.batches[i].seq >= w.from && (!lossy || w.rng.IntN(10) > 0) {
			w.replay = append(w.replay, e.batches[i])
		}
	}
	if lossy && len(w.replay) > 0 && w.replay[0].seq != max(w.from, e.batches[max(0, len(e.batches)-w.keep)].seq) {
		w.replay = nil // senders drop when they are full, not at the beginning
		w.served = false
	}
}

func (w *world) advance(mayCut bool) {
	switch {
	case !w.served:
		return
	case mayCut && w.rng.IntN(20) == 0:
		w.replay = nil
		w.end(Cut)
	case len(w.replay) == 0:
		w.end(Whole)
	default:
		d := w.replay[0]
		w.replay = w.replay[1:]
		w.note("replayed %d", d.seq)
		w.p.Replayed(d.seq, d.payload)
	}
}

func (w *world) end(end End) {
	w.note("end %d", end)
	w.asked, w.served = false, false
	w.take(w.p.ReplayEnded(end))
}

func (w *world) step() {
	switch w.rng.IntN(24) {
	case 0:
		w.connect()
	case 1:
		w.restart()
	case 2:
		if w.last.payload != nil {
			w.note("again %d", w.last.seq)
			w.take(w.p.Live(w.last.seq, w.last.payload))
		}
	case 3, 4, 5:
		w.serve(true)
	case 6, 7, 8, 9, 10:
		w.advance(true)
	case 11, 12, 13, 14:
		w.work()
	default:
		w.deliver()
	}
	w.check(w.lives)
}

// check holds the index against what one of the processes held at the batch where the
// Publisher is: nothing more unless in doubt, and nothing less if complete.
func (w *world) check(lives []*process) {
	next, begun := w.p.Next()
	picture := w.p.Picture()
	switch {
	case picture == Doubtful:
		return
	case !begun && len(w.index) == 0 && picture == Unheard:
		return
	}
	for _, e := range lives {
		if next == 0 || int(next) > len(e.after) {
			continue
		}
		truth := e.after[next-1]
		more, same := false, len(truth) == len(w.index)
		for key := range w.index {
			more = more || truth[key] == 0
		}
		if !more && (same || picture == Lacking) {
			return
		}
	}
	w.t.Fatalf("the picture is %v after batch %d, and wrong:\n%v", picture, next, w.log)
}

func checkWorld(t *testing.T, seed uint64, steps int) Picture {
	w := newWorld(t, seed)
	w.connect()
	for range steps {
		w.step()
	}
	// Nothing gets lost any more: the Publisher arrives where the engine is.
	w.work()
	w.connect()
	for range 4*len(w.engine().batches) + 200 {
		w.serve(false)
		w.advance(false)
		w.deliver()
	}
	w.stream = append(w.stream, delivery{uint64(len(w.engine().batches)), packBatch(0, nil)})
	w.engine().batches = append(w.engine().batches, w.stream[len(w.stream)-1])
	w.engine().after = append(w.engine().after, maps.Clone(w.engine().held))
	for range 4*len(w.engine().batches) + 200 {
		w.deliver()
		w.serve(false)
		w.advance(false)
	}
	if next, _ := w.p.Next(); int(next) != len(w.engine().batches) {
		t.Fatalf("seed %d: at %d, the engine at %d:\n%v", seed, next, len(w.engine().batches), w.log)
	}
	w.check(w.lives[len(w.lives)-1:])
	return w.p.Picture()
}

// Whatever is lost, doubled or broken: a picture that claims to be right is.
func TestPictureIsNeverWrong(t *testing.T) {
	t.Parallel()
	seen := map[Picture]int{}
	worlds := uint64(3000)
	if testing.Short() {
		worlds = 300
	}
	for seed := range worlds {
		seen[checkWorld(t, seed, 150)]++
	}
	t.Logf("pictures in the end: %v", seen)
	for _, p := range []Picture{Complete, Lacking, Doubtful} {
		if seen[p] == 0 {
			t.Errorf("no world ended %v", p)
		}
	}
}

func FuzzPictureIsNeverWrong(f *testing.F) {
	f.Add(uint64(1), uint16(100))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16) {
		checkWorld(t, seed, int(steps%2000))
	})
}
