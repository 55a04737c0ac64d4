package core

// startStep picks the batch and fixes when it ends.
func (e *Engine) startStep() {
	e.now = batch{}
	budget := e.cfg.MaxTokens
	preempted := e.counts.Preemptions
	for i := 0; i < len(e.running) && budget > 0; i++ {
		s := e.running[i]
		n := min(s.total()-s.computed, budget)
		for !e.grow(s, n) {
			if !e.preempt(s) {
				break
			}
		}
		if !s.running {
			break // s was the last of the batch and gave way itself
		}
		e.schedule(s, n)
		budget -= n
	}
	if e.counts.Preemptions == preempted {
		e.admit(budget)
	}
	e.counts.MaxRunning = max(e.counts.MaxRunning, len(e.running))
	e.stepping = true
	e.stepEnd = e.due + e.cfg.Timing.duration(&e.now, e.cfg.Slow)
}

// admit moves waiting sequences into the batch while tokens, places and blocks
// last. The head of the queue is never passed over.
func (e *Engine) admit(budget int) {
	for len(e.waiting) > 0 && budget > 0 && len(e.running) < e.cfg.MaxSeqs {
		s := e.waiting[0]
		hit, fromHost := e.match(s)
		n := min(s.total()-hit, budget)
		if !e.fits(s, hit, fromHost, n) {
			return
		}
		e.enter(s, hit, fromHost)
		if !e.grow(s, n) {
			panic("BUG: admitted sequence does not fit")
		}
		e.schedule(s, n)
		budget -= n
	}
}

// match returns how many leading tokens of s are cached, and how many of those,
// the last ones, are in the host tier only. The last token is always computed: its
// logits are what the next token comes from.
func (e *Engine) match(s *Seq) (hit, fromHost int) {
	if e.cfg.NoCaching {
		return 0, 0
	}
	size := e.cfg.BlockSize
	limit := (s.total() - 1) / size
	limit = min(limit, len(s.keys))
	i := 0
	for i < limit && e.pool.lookup(s.keys[i]) != none {
		i++
	}
	device := i * size
	if h := e.pool.host; h != nil {
		for i < limit && h.has(s.keys[i]) {
			i++
		}
	}
	return i * size, i*size - device
}

// fits reports whether s can enter with n tokens to compute, given that its
// cached blocks leave the free list when it does.
func (e *Engine) fits(s *Seq, hit, fromHost, n int) bool {
	size := e.cfg.BlockSize
	idle := 0
	for _, k := range s.keys[:(hit-fromHost)/size] {
		if e.pool.blocks[e.pool.lookup(k)].refs == 0 {
			idle++
		}
	}
	need := (hit+n+size-1)/size - (hit-fromHost)/size
	return need <= e.pool.free-idle
}

// enter moves the head of the queue into the batch on top of its cached prefix.
func (e *Engine) enter(s *Seq, hit, fromHost int) {
	copy(e.waiting, e.waiting[1:])
	e.waiting[len(e.waiting)-1] = nil
	e.waiting = e.waiting[:len(e.waiting)-1]
	e.running = append(e.running, s)
	s.running = true

	size := e.cfg.BlockSize
	device := (hit - fromHost) / size
	for _, k := range s.keys[:device] {
		i := e.pool.lookup(k)
		e.pool.hold(i)
		s.blocks = append(s.blocks, i)
	}
	for range fromHost / size {
		s.blocks = append(s.blocks, e.pool.take())
	}
	s.computed, s.hashed = hit, device
	e.offer(s, hit/size) // what came from the host is on the device again
	e.now.hostTokens += fromHost

	if !s.admitted {
		s.admitted, s.cached, s.started = true, hit, e.due
		e.counts.PrefixQueries += int64(s.prompt)
		e.counts.PrefixHits += int64(hit)
		e.counts.HostHits += int64(fromHost)
	}
}

// grow gives s the blocks for n more tokens, all or none.
func (e *Engine) grow(s *Seq, n int) bool {
	size := e.cfg.BlockSize
	need := (s.computed+n+size-1)/size - len(s.blocks)
	if need > e.pool.free {
		return false
	}
	for range need {
		s.blocks = append(s.blocks, e.pool.take())
	}
	return true
}

// schedule books n tokens of s into the batch and offers the blocks that they
// fill to the cache. As in vLLM the blocks can be found from now on, before
// the step has ended: whoever finds them computes in the same or a later step.
func (e *Engine) schedule(s *Seq, n int) {
	if n == 1 && len(s.out) > 0 && s.computed == s.total()-1 {
		e.now.decode(s.computed)
	} else {
		e.now.prefill(&e.cfg.Timing, s.computed, n)
	}
	s.computed += n
	s.scheduled = n
	e.offer(s, s.computed/e.cfg.BlockSize)
}

// offer registers the blocks of s up to full and tells the observer.
func (e *Engine) offer(s *Seq, full int) {
	size := e.cfg.BlockSize
	from := s.hashed
	if s.req.Prompt == nil {
		full = min(full, len(s.req.Keys)) // output after an unknown prompt cannot be keyed
	}
	if full <= from || e.cfg.NoCaching {
		return
	}
	s.hashed = full
	root := RootKey(s.req.Adapter, s.req.Salt)
	for i := len(s.keys); i < full; i++ { // blocks that decoding filled
		e.scratch = e.scratch[:0]
		for t := i * size; t < (i+1)*size; t++ {
			e.scratch = append(e.scratch, s.tokenAt(t))
		}
		s.keys = append(s.keys, ChainKey(parentOf(s, i, root), e.scratch))
	}
	for from < full {
		to := from
		for to < full && e.pool.register(s.blocks[to], s.keys[to], parentOf(s, to, root)) {
			to++
		}
		if to > from {
			e.announce(s, from, to, root)
		}
		from = to
		if from < full {
			from++ // an equal block is known already; this one stays private
		}
	}
}

func parentOf(s *Seq, i int, root Key) Key {
	if i == 0 {
		return root
	}
	return s.keys[i-1]
}

func (e *Engine) announce(s *Seq, from, to int, root Key) {
	st := Stored{
		Parent: parentOf(s, from, root), Root: from == 0, Keys: s.keys[from:to],
		BlockSize: e.cfg.BlockSize, Adapter: s.req.Adapter, Salt: s.req.Salt,
	}
	if s.req.Prompt != nil {
		e.scratch = e.scratch[:0]
		for t := from * e.cfg.BlockSize; t < to*e.cfg.BlockSize; t++ {
			e.scratch = append(e.scratch, s.tokenAt(t))
		}
		st.Tokens = e.scratch
	}
	e.pool.obs.Stored(st)
}

// preempt takes the blocks of the sequence that should give way first and
// sends it back to the queue, to be computed again. It reports whether the
// caller should try again: false means that s itself was the one.
func (e *Engine) preempt(s *Seq) bool {
	victim := e.running[len(e.running)-1]
	if e.cfg.ByPriority {
		for _, r := range e.running {
			if e.before(victim, r) {
				victim = r
			}
		}
	}
	if victim.scheduled > 0 {
		// It has a place in this step already; by arrival order this cannot
		// happen, by priority s is then the less urgent one.
		victim = s
	}
	e.running = remove(e.running, victim)
	e.drop(victim)
	victim.computed, victim.hashed, victim.scheduled = 0, 0, 0
	e.counts.Preemptions++
	e.enqueue(victim)
	return victim != s
}

// finishStep hands out the tokens of the step that ends.
func (e *Engine) finishStep() {
	e.stepping = false
	e.freeAt = e.stepEnd
	e.counts.Steps++
	e.counts.Busy += e.stepEnd - e.due
	keep := e.running[:0]
	for _, s := range e.running {
		if s.scheduled > 0 {
			s.scheduled = 0
			if s.computed == s.total() {
				e.emit(s)
			}
		}
		if !s.done {
			keep = append(keep, s)
		}
	}
	clear(e.running[len(keep):])
	e.running = keep
	e.recordStep()
}

func (e *Engine) emit(s *Seq) {
	i := len(s.out)
	var token uint32
	if s.req.Output != nil {
		token = s.req.Output(i)
	}
	s.out = append(s.out, token)
	o := Output{Seq: s, Index: i, Token: token, At: e.stepEnd}
	e.counts.OutputTokens++
	if i == 0 {
		e.counts.PromptTokens += int64(s.prompt)
	}
	if len(s.out) == s.req.OutputTokens {
		o.Finish = s.req.Finish
		s.done = true
		e.drop(s)
		e.counts.Completed++
	}
	e.outputs = append(e.outputs, o)
}
