package enginesim

import (
	"sync"
	"time"

	"penstock/bench/enginesim/core"
	"penstock/bench/enginesim/tokens"
)

// answer is one sequence to generate and the text it will have.
type answer struct {
	prompt  []uint32
	writer  tokens.Writer
	clipped []string // texts that differ from the writer's because a stop string ends them
	finish  core.Finish
	stopped string // the stop string that ends the answer, if one does
}

func (a *answer) text(i int) string {
	if a.clipped != nil {
		return a.clipped[i]
	}
	return a.writer.Text(i)
}

// piece is one token of one answer of a job.
type piece struct {
	choice int
	index  int
	finish core.Finish
}

// job is one HTTP request inside the engine: one or more sequences whose tokens
// arrive in one mailbox. The runner fills it, the handler empties it.
type job struct {
	runner  *runner
	answers []answer
	seqs    []*core.Seq
	ready   chan struct{} // capacity 1: the mailbox is not empty, or the job ended

	mu      sync.Mutex // guards what follows; taken inside runner.mu
	mail    []piece
	spare   []piece
	left    int // answers that still grow
	aborted bool
	first   time.Duration // simulated time of the first token
	last    []time.Duration
	cached  int
	made    int
}

// seqTag leads from a sequence of the engine back to its job.
type seqTag struct {
	job    *job
	choice int
}

func (j *job) wake() {
	select {
	case j.ready <- struct{}{}:
	default:
	}
}

// take empties the mailbox. ended is true when no more will come.
func (j *job) take() (pieces []piece, ended, aborted bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	pieces = j.mail
	j.mail, j.spare = j.spare[:0], pieces
	return pieces, j.left == 0, j.aborted
}

func (j *job) promptTokens() int {
	n := 0
	for i := range j.answers {
		n += len(j.answers[i].prompt)
	}
	return n
}

// counts returns prompt tokens found in the cache and tokens generated so far.
func (j *job) counts() (cached, made int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cached, j.made
}

// cancel takes the job out of the engine and reports whether it was alive.
func (j *job) cancel() bool { return j.runner.cancel(j) }
