package proxy

import (
	"context"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"penstock/proxy/scan"
)

// accessLog writes one JSON object per request. Lines gather in memory and one
// goroutine writes them; when the writer cannot keep up, lines are dropped and
// counted rather than requests delayed.
type accessLog struct {
	w       io.Writer
	dropped atomic.Uint64

	mu      sync.Mutex // guards pending
	pending []byte
	kick    chan struct{}
}

const (
	accessFlush = 500 * time.Millisecond
	accessEarly = 64 << 10 // bytes that make a flush due at once
	accessLimit = 4 << 20  // bytes beyond which lines are dropped
)

func newAccessLog(w io.Writer) *accessLog {
	return &accessLog{w: w, kick: make(chan struct{}, 1)}
}

// run writes until ctx ends, then once more.
func (a *accessLog) run(ctx context.Context) {
	tick := time.NewTicker(accessFlush)
	defer tick.Stop()
	var spare []byte
	for {
		select {
		case <-ctx.Done():
			a.flush(spare)
			return
		case <-tick.C:
		case <-a.kick:
		}
		spare = a.flush(spare)
	}
}

func (a *accessLog) flush(spare []byte) []byte {
	a.mu.Lock()
	full := a.pending
	a.pending = spare[:0]
	a.mu.Unlock()
	if len(full) > 0 {
		if _, err := a.w.Write(full); err != nil {
			a.dropped.Add(1)
		}
	}
	return full
}

func (a *accessLog) log(r *record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.pending) > accessLimit {
		a.dropped.Add(1)
		return
	}
	a.pending = r.appendAccess(a.pending)
	if len(a.pending) > accessEarly {
		select {
		case a.kick <- struct{}{}:
		default:
		}
	}
}

// appendAccess appends the log line of a request: who asked for what, what was
// decided and why, how it went. No prompt, no key, no query.
func (r *record) appendAccess(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = r.ended.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = appendText(b, `","request_id":`, r.requestID)
	b = appendText(b, `,"client":`, r.client)
	b = appendText(b, `,"key":`, r.keyID)
	b = appendText(b, `,"tenant":`, r.tenant)
	b = appendText(b, `,"method":`, r.method)
	b = appendText(b, `,"path":`, r.path)
	if r.route != nil {
		b = appendText(b, `,"route":`, r.route.name)
	}
	b = appendText(b, `,"model":`, r.model)
	if r.be != nil {
		b = appendText(b, `,"pool":`, r.be.cfg.Name)
	}
	b = appendText(b, `,"replica":`, string(r.replica))
	b = appendText(b, `,"reason":`, r.why.String())
	b = appendInt(b, `,"candidates":`, int64(r.tried))
	b = appendInt(b, `,"attempts":`, int64(r.attempts))
	b = appendInt(b, `,"replays":`, int64(r.replays))
	b = appendInt(b, `,"status":`, int64(r.status))
	b = appendText(b, `,"code":`, r.code)
	if r.cause != nil {
		b = appendText(b, `,"cause":`, r.cause.Error())
	}
	b = append(b, `,"stream":`...)
	b = strconv.AppendBool(b, r.stream)
	b = appendInt(b, `,"bytes_in":`, int64(r.bytesIn))
	b = appendInt(b, `,"bytes_out":`, r.bytesOut)
	b = appendInt(b, `,"events":`, r.events)
	b = appendInt(b, `,"prompt_tokens":`, r.usage.Prompt)
	b = appendText(b, `,"key_source":`, r.count.Origin.String())
	b = appendInt(b, `,"keyed_tokens":`, r.count.Tokens)
	b = appendInt(b, `,"completion_tokens":`, r.usage.Completion)
	b = appendInt(b, `,"cached_tokens":`, r.usage.Cached)
	b = append(b, `,"usage_estimated":`...)
	b = strconv.AppendBool(b, !r.usage.Known)
	if !r.firstByte.IsZero() {
		b = appendSeconds(b, `,"ttft":`, r.firstByte.Sub(r.started))
	}
	b = appendSeconds(b, `,"duration":`, r.ended.Sub(r.started))
	return append(b, '}', '\n')
}

// appendText appends a key fragment, ready to paste, and a JSON string.
func appendText(b []byte, key, text string) []byte {
	b = append(b, key...)
	return scan.AppendString(b, text)
}

func appendInt(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), n, 10)
}

func appendSeconds(b []byte, key string, d time.Duration) []byte {
	return strconv.AppendFloat(append(b, key...), d.Seconds(), 'f', 6, 64)
}
