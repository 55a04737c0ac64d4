package kvevents

import "github.com/cespare/xxhash/v2"

// life is where in a publisher's stream we are. Its numbers start at 0 with each
// process and grow by one with each batch.
type life struct {
	begun      bool
	next       uint64 // the number that is expected
	last       uint64 // digest of the batch before, to know the process again
	unverified bool   // the connection is new: it may be another process
	joined     bool   // what is replayed and what is live come from the same process
	unsure     bool   // a live batch was applied after replayed ones without that
	live       bool   // lastLive counts for this connection
	lastLive   uint64
	recent     [recentBatches]mark
}

// recentBatches is how far back a batch that comes again is known.
const recentBatches = 16

type mark struct{ seq, digest uint64 }

// held are batches that came while a replay was under way.
type held struct {
	batches []heldBatch
	size    int
}

type heldBatch struct {
	seq     uint64
	payload []byte
}

func (h *held) clear() { *h = held{} }

// replay is the one under way.
type replay struct {
	running  bool
	from     uint64
	attempt  int
	overlap  bool // from is the batch before the expected one: it must be as we know it
	heard    int  // messages of this replay
	progress bool // it brought batches that were missing
	broken   bool // the rest of it is of no use
	again    bool // ask once more from where we are when it ends
	gap      bool // it was asked because a batch was missing
	stuck    bool // it ended, and that batch is missing still: it is lost
}

// Connected says that a connection to the publisher was made, the first or another. It
// may be to a new process, and batches may have passed meanwhile.
func (p *Publisher) Connected() Ask {
	p.held.clear() // may be of another life; what is good among it is replayed
	if p.life.unsure {
		p.restart() // what is known may be of two processes
	}
	p.life.live, p.life.joined = false, false
	p.life.unverified = p.life.begun
	p.replay.stuck = false
	if p.replay.running {
		p.replay.again = true
		return Ask{}
	}
	if !p.options.Replay {
		return Ask{}
	}
	return p.ask(1)
}

// ask starts a replay from the batch before the expected one, so that its first shows
// whether it is of the same life.
func (p *Publisher) ask(attempt int) Ask {
	p.count(ReplaysAsked, 1)
	p.replay = replay{running: true, attempt: attempt}
	if p.life.begun && p.life.next > 0 {
		p.replay.overlap, p.replay.from = true, p.life.next-1
	}
	return Ask{Wanted: true, From: p.replay.from, Attempt: attempt}
}

// askFor asks again for what the last replay was asked for.
func (p *Publisher) askFor(gap bool, attempt int) Ask {
	ask := p.ask(attempt)
	p.replay.gap = gap
	return ask
}

// Live takes a batch as it was published. The payload is not kept.
func (p *Publisher) Live(seq uint64, payload []byte) Ask {
	if !p.replay.running {
		return p.live(seq, payload)
	}
	if p.held.size+len(payload) > p.options.HeldBytes {
		p.count(HeldDropped, 1) // the gap shows when the replay has ended
		return Ask{}
	}
	p.held.size += len(payload)
	p.held.batches = append(p.held.batches, heldBatch{seq, append([]byte(nil), payload...)})
	return Ask{}
}

// live takes a batch while no replay is under way.
func (p *Publisher) live(seq uint64, payload []byte) Ask {
	digest := xxhash.Sum64(payload)
	if !p.decode(payload) {
		return Ask{}
	}
	if p.life.begun && seq < p.life.next {
		switch p.seen(seq, digest) {
		case sameBatch:
			p.life.joined, p.life.unsure = true, false
			fallthrough
		case oldBatch:
			p.count(DuplicateBatch, 1)
			p.heardLive(seq)
			return Ask{}
		case strangeBatch:
			p.restart()
			return p.askFor(false, 2)
		case newLife:
			p.restart()
		}
	}
	missing := seq > p.life.next // before anything was heard, next is 0
	if missing && p.options.Replay && !p.replay.stuck {
		ask := p.askFor(true, 1)
		_ = p.Live(seq, payload) // a replay is running now: it is held
		return ask
	}
	p.join(seq)
	p.heardLive(seq)
	p.take(seq, digest)
	if p.life.unsure && p.options.Replay {
		return p.ask(1) // begins with this batch, if it is the same process
	}
	return Ask{}
}

// join goes on with a live batch. If what came before was replayed, it may have come
// from another process: a publisher is two sockets, and the end of a connection may show
// late.
func (p *Publisher) join(seq uint64) {
	switch {
	case !p.life.begun:
		p.life.joined = true
	case !p.life.joined:
		p.life.unsure = true
	}
	p.resume(seq)
	if p.life.unverified {
		p.trust(Doubtful) // nobody can say whether this is the process that we knew
	}
}

// trust goes on without knowing whether all is of one process.
func (p *Publisher) trust(in Picture) {
	p.picture = in
	p.life.unverified, p.life.joined, p.life.unsure = false, true, false
}

// sighting is what a live batch below the expected number is.
type sighting uint8

const (
	newLife      sighting = iota // of another process, which counts from 0 again
	oldBatch                     // applied already, by a replay
	sameBatch                    // applied already, and the very same
	strangeBatch                 // not the one that a replay gave
)

// seen says what a live batch below the expected number is: known from a replay, if this
// connection had not come so far, or from before, if it is the very same.
func (p *Publisher) seen(seq, digest uint64) sighting {
	known := p.life.recent[seq%recentBatches]
	comparable := known.seq == seq && known.digest != 0
	switch {
	case p.life.unverified:
		return newLife
	case comparable && known.digest == digest:
		return sameBatch
	case p.life.live && seq <= p.life.lastLive:
		return newLife
	case comparable:
		return strangeBatch
	}
	return oldBatch
}

// heardLive remembers how far this connection has come.
func (p *Publisher) heardLive(seq uint64) {
	if !p.life.live || seq > p.life.lastLive {
		p.life.live, p.life.lastLive = true, seq
	}
}

// resume goes on at seq, whatever was before it.
func (p *Publisher) resume(seq uint64) {
	switch {
	case !p.life.begun && seq == 0:
		p.picture = Complete
	case !p.life.begun:
		p.picture = Lacking
	case seq > p.life.next:
		p.lose(seq - p.life.next)
	}
	p.life.begun, p.life.next = true, seq
	p.replay.stuck = false
}

// take applies the decoded batch with the expected number.
func (p *Publisher) take(seq, digest uint64) {
	p.life.next, p.life.last = seq+1, digest
	p.life.recent[seq%recentBatches] = mark{seq, digest}
	for i := range p.batch.Events {
		p.apply(&p.batch.Events[i])
	}
}

// decode reads a payload into the batch and reports whether its number counts: that of
// a malformed one does, with nothing in it; that of another rank does not.
func (p *Publisher) decode(payload []byte) bool {
	if err := p.batch.Decode(payload); err != nil {
		p.batch.Events = append(p.batch.Events, Event{Kind: KindMalformed})
		p.count(MalformedBatch, 1)
		return true
	}
	if p.options.Rank >= 0 && p.batch.Rank >= 0 && p.batch.Rank != p.options.Rank {
		p.count(WrongRank, 1)
		return false
	}
	return true
}

// Replayed takes a batch of the replay. The payload is not kept.
func (p *Publisher) Replayed(seq uint64, payload []byte) {
	r := &p.replay
	if !r.running || r.broken {
		return
	}
	r.heard++
	digest := xxhash.Sum64(payload)
	if r.heard == 1 && r.overlap && !p.recognised(seq, digest) {
		return
	}
	switch {
	case p.life.begun && seq < p.life.next:
		return
	case p.life.begun && seq > p.life.next && r.progress:
		r.broken, r.again = true, true // its sender dropped some: ask from there
		return
	}
	if !p.decode(payload) {
		return
	}
	p.resume(seq)
	r.progress = true
	p.take(seq, digest)
}

// recognised looks at the first batch of a replay that begins before the expected one,
// and reports whether the rest can be applied. If the batch is not the one that we know,
// the publisher lives anew.
func (p *Publisher) recognised(seq, digest uint64) bool {
	r := &p.replay
	switch {
	case seq == r.from && digest == p.life.last:
		p.life.unverified = false
		if p.life.unsure {
			p.life.joined, p.life.unsure = true, false
		}
		return true
	case seq == r.from:
		p.restart()
		r.broken, r.again = true, true // there may be more before it
		return false
	case seq > r.from:
		p.restart() // it may be the same life, but nobody can tell
	}
	return true
}

// ReplayEnded says that the replay is over: whole, if its end was heard, or cut. The
// batches that waited for it are applied.
func (p *Publisher) ReplayEnded(end End) Ask {
	r := p.replay
	if !r.running {
		return Ask{}
	}
	p.replay.running = false
	switch {
	case r.again:
		return p.ask(1)
	case end == Cut && r.progress:
		return p.askFor(r.gap, 1)
	case end == Cut && r.attempt < p.options.ReplayAttempts:
		return p.askFor(r.gap, r.attempt+1)
	case end == Whole && r.heard == 0 && r.overlap:
		p.restart() // a publisher remembers its last batch: this one does not know ours
		return p.ask(1)
	}
	if p.life.unsure {
		p.trust(Doubtful)
	}
	p.replay.stuck = r.gap && !r.progress
	return p.release()
}

// End is how a replay ended.
type End uint8

// The ends of a replay.
const (
	Cut   End = iota // the connection broke, or nothing came for long
	Whole            // the publisher said so
)

// release applies the batches that waited, until one of them asks for a replay again.
func (p *Publisher) release() Ask {
	waiting := p.held.batches
	p.held.clear()
	for i, b := range waiting {
		ask := p.live(b.seq, b.payload)
		if !ask.Wanted {
			continue
		}
		for _, later := range waiting[i+1:] {
			_ = p.Live(later.seq, later.payload) // held
		}
		return ask
	}
	return Ask{}
}
