package proxy

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"penstock/pools"
	"penstock/proxy/sse"
	"penstock/proxy/upstream"
	"penstock/routing"
)

// attempt tries replicas until one gives an answer worth passing on, or the
// rule of retries says stop.
func (x *exchange) attempt() error {
	be := x.be
	x.call.Now = x.started
	view, err := x.choose()
	if err != nil {
		return err
	}
	be.active.Add(1)
	retries := 0
	defer func() {
		be.active.Add(-1)
		for ; retries > 0; retries-- {
			be.budget.Done()
		}
	}()
	for {
		err := x.try(view)
		if err == nil {
			err = x.inspect()
		}
		next, spent := x.again(view, err)
		if spent {
			retries++
		}
		if next == nil {
			if err != nil {
				x.blame(err)
				return err
			}
			return x.answer()
		}
		view = next
	}
}

// rank picks the data-parallel rank of a replica that has several: by the
// conversation where one is known, so that its cache is met again, else in turn.
// -1 leaves the choice to the engine.
func (x *exchange) rank(m *pools.Member) int {
	switch {
	case m.Ranks <= 1 || !x.route.has(flagGenerates):
		return -1
	case x.query.Session != 0:
		return int(x.query.Session % uint64(m.Ranks))
	case x.query.Prefix != 0:
		return int(x.query.Prefix % uint64(m.Ranks))
	}
	return int(x.be.turn.Add(1) % uint64(m.Ranks))
}

// again decides whether this attempt is repeated elsewhere, and if so has
// chosen and reserved the next replica. Only then is the answer at hand, if
// there is one, given up: a refusal is better than nothing.
func (x *exchange) again(view *pools.View, err error) (next *pools.View, spent bool) {
	if err == nil && x.effective < 400 {
		return nil, false
	}
	x.query.Exclude = append(x.query.Exclude, x.replica)
	a := x.facts(view, err)
	d := routing.DecideRetry(&a)
	if d.Why == routing.RetryNone {
		return nil, false
	}
	if d.Retry && !d.SameReplicaFresh && !x.be.budget.Take(x.be.active.Load()) {
		d = routing.RetryDecision{Why: routing.RefuseBudget}
	}
	x.server.metrics.retries.WithLabelValues(x.be.cfg.Name, d.Why.String()).Inc()
	if !d.Retry {
		return nil, false
	}
	lease, replica := x.lease, x.replica
	next, cerr := x.choose()
	if cerr != nil {
		x.lease, x.replica = lease, replica
		return nil, true
	}
	retryAfter := parseRetryAfter(x.call.Response.RetryAfter)
	if err != nil {
		x.blame(err)
		retryAfter = 0
	} else {
		x.judge(x.effective)
	}
	lease.EndAfter(x.outcome, retryAfter)
	x.outcome = pools.OutcomeNeutral
	x.call.Finish()
	x.call.Again()
	x.call.Now = x.server.now()
	return next, true
}

// facts gathers what the retry rule goes by.
func (x *exchange) facts(view *pools.View, err error) routing.Attempt {
	a := routing.Attempt{
		Status: x.effective, OnStatus: x.be.cfg.Retry.OnStatus, BodyInMemory: true,
		ClientGone: x.call.Cancelled(), DeadlineLeft: time.Hour,
		AttemptsMade: x.attempts, MaxAttempts: x.be.cfg.Retry.MaxAttempts, Replays: x.call.Replays,
		OthersLeft: routing.OthersLeft(x.input(view, x.server.now())),
	}
	if !x.total.IsZero() {
		a.DeadlineLeft = x.total.Sub(x.server.now())
	}
	if x.stateElsewhere() {
		// Stored state whose holder is not known: asking the next one is how
		// it is found, and asking costs the engine nothing.
		a.OnStatus, a.MaxAttempts = statusNotFound, len(view.Members)
	}
	if u, ok := errors.AsType[*upstream.Error](err); ok {
		a.Status = 0
		// After a replay something was sent: the connection before the one that
		// could not be opened died under this request.
		a.ConnectFailed = u.Phase == upstream.PhaseDial && x.call.Replays == 0
		a.TimedOut = u.Timeout && !a.ConnectFailed
		a.Died = !u.Timeout && !a.ConnectFailed
		a.Reused = false // replayed by the upstream package already
		a.ResponseByteSeen = u.ByteSeen || u.Phase >= upstream.PhaseHead
		if !a.ConnectFailed && !x.repeatable() {
			a.BodyInMemory = false // it must not be sent again, so to the rule it is gone
		}
	}
	if x.query.Pin != "" {
		a.OthersLeft = 0
	}
	return a
}

// repeatable reports whether the request may be sent again although an engine
// may have acted on it: one of the known routes, or an idempotent method. What a
// POST to another path does is not known here (RFC 9110 section 9.2.2).
func (x *exchange) repeatable() bool {
	if x.route != routePass {
		return true
	}
	switch string(x.ctx.Method()) {
	case "GET", "HEAD", "OPTIONS", "PUT", "DELETE":
		return true
	}
	return false
}

var statusNotFound = []int{404}

// stateElsewhere reports whether a 404 may mean that another replica has it.
func (x *exchange) stateElsewhere() bool {
	return x.route.has(flagStateful) && x.query.Pin == ""
}

// blame turns a failed attempt into what the replica's breaker is told.
func (x *exchange) blame(err error) {
	var u *upstream.Error
	switch {
	case x.call.Cancelled():
		x.outcome = pools.OutcomeClientGone
	case errors.As(err, &u):
		x.outcome = pools.OutcomeFailed
		x.server.metrics.failures.WithLabelValues(x.be.cfg.Name, u.Phase.String()).Inc()
	default:
		x.outcome = pools.OutcomeNeutral
	}
}

// maxRetryAfter is the longest pause that a replica is believed.
const maxRetryAfter = 60 * time.Second

// parseRetryAfter reads the delay form (RFC 9110 section 10.2.3); the date form
// is not used by any engine.
func parseRetryAfter(v []byte) time.Duration {
	n, err := strconv.Atoi(string(v))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, maxRetryAfter)
}

// maxChoices bounds how often a choice may lose a race for its replica.
const maxChoices = 16

// choose picks a replica and reserves it in one step; when the reservation
// fails, because others were faster or the pool has changed, it picks again.
func (x *exchange) choose() (*pools.View, error) {
	set := x.be.set
	for range maxChoices {
		view := set.View()
		x.be.policy.Choose(x.input(view, x.call.Now), &x.choice)
		x.tried = x.choice.Tried
		if x.choice.Index < 0 {
			// A change under way may have marked the old replicas as leaving
			// and not published the new ones yet.
			if set.Sync(); set.View().Version != view.Version {
				continue
			}
			return nil, x.noReplica()
		}
		m := &view.Members[x.choice.Index]
		lease, err := set.AcquireMember(*m, x.query.Cost)
		if err == nil {
			x.lease, x.replica, x.why = lease, m.ID, x.choice.Why
			x.server.metrics.chosen(x.be, x.why)
			return view, nil
		}
		if errors.Is(err, pools.ErrGone) {
			set.Sync()
			continue
		}
		x.query.Exclude = append(x.query.Exclude, m.ID)
	}
	return nil, x.noReplica()
}

// input is what a policy may go by.
func (x *exchange) input(view *pools.View, now time.Time) *routing.Input {
	x.in = routing.Input{View: view, Query: &x.query, Rand: x.rand, Now: view.Elapsed(now)}
	return &x.in
}

func (x *exchange) noReplica() error {
	return &Error{Status: 503, Code: codeNoReplica, Public: "no replica is available", RetryAfter: 1}
}

// try sends the request to the chosen replica and passes its answer on if it
// is one.
func (x *exchange) try(view *pools.View) error {
	target, err := x.be.targets.at(view, x.choice.Index)
	if err != nil {
		return &upstream.Error{Phase: upstream.PhaseDial, Err: err}
	}
	x.out.host, x.out.basePath, x.out.attempt = target.Host(), target.BasePath(), x.attempts
	x.attempts++
	x.out.rank = x.rank(&view.Members[x.choice.Index])
	x.head = appendHead(x.head[:0], &x.ctx.Request.Header, &x.out, x.st.allow)
	x.call.Head, x.call.Body = x.head, x.body
	x.call.Bodyless = x.ctx.IsHead()
	x.call.Fresh = !x.repeatable()
	x.call.WriteTimeout = x.be.cfg.Timeouts.Write.D()
	x.call.FirstByte = x.firstByteDeadline(x.call.Now)
	err = target.Send(&x.call)
	x.replays += x.call.Replays
	return err
}

// inspect looks at as much of the answer as is needed to know what it is: the
// status, a small body whole, and of a stream its first event, since a refusal
// can come inside a 200 (SGLang tells its 503 this way).
func (x *exchange) inspect() error {
	h := &x.call.Response
	x.effective, x.errorEvent = h.Status, nil // of this attempt, not of one before
	x.events = h.Status == 200 && isEventStream(h.ContentType) && !x.ctx.IsHead()
	if !x.events {
		return x.inspectBody()
	}
	payload, err := x.awaitFirstEvent()
	if err != nil {
		return err
	}
	switch status, isError := sse.ErrorIn(payload); {
	case isError:
		x.effective, x.errorEvent = status, payload
	case x.abortedAtOnce():
		// vLLM answers so while it drains: a 200 that says nothing. Elsewhere the
		// request can still be served; if not, the client gets what came.
		x.effective = 503
	}
	return nil
}

// inspectBody reads an answer of known, small length.
func (x *exchange) inspectBody() error {
	x.ctx.Response.ResetBody()
	if h := &x.call.Response; h.Length < 0 || h.Length > bufferedAnswer {
		return nil
	}
	if err := x.readBody(); err != nil {
		return err
	}
	if x.effective == 200 && x.route.has(flagGenerates) && bodyAborted(x.ctx.Response.Body()) {
		x.server.metrics.aborted.Inc()
		x.effective = 503
	}
	return nil
}

// bodyAborted reports whether a whole answer was given up by its engine. A mark
// inside generated text has its quotes escaped and does not match.
func bodyAborted(body []byte) bool {
	const name, value = `"finish_reason":`, `"abort"`
	if !bytes.Contains(body, []byte(value)) {
		return false
	}
	for {
		i := bytes.Index(body, []byte(name))
		if i < 0 {
			return false
		}
		body = bytes.TrimLeft(body[i+len(name):], " ")
		if bytes.HasPrefix(body, []byte(value)) {
			return true
		}
	}
}

// abortedAtOnce reports whether the stream's first event gives the request up.
func (x *exchange) abortedAtOnce() bool {
	if !bytes.Contains(x.first, []byte(`"abort"`)) {
		return false
	}
	var t sse.Tracker
	t.Reset(x.route.api)
	t.Feed(x.first)
	s := t.State()
	return s.Aborted && s.ContentEvents == 0
}
