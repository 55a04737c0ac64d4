package chattemplate

import (
	"bytes"
	"time"

	"penstock/routing/chattemplate/value"
)

// otherTimes are times of day of which one at least differs from any in the first
// character that a directive of strftime prints.
func otherTimes() []time.Duration {
	return []time.Duration{
		0,
		7*time.Hour + 11*time.Minute + 11*time.Second,
		23*time.Hour + 33*time.Minute + 33*time.Second,
	}
}

// beforeClock cuts the prompt where a template prints the time of day: the engine
// renders at another moment. Where that is is found by rendering for other times.
func (w *Worker) beforeClock(t *template, c *chat, vars, messages value.Value) Reason {
	if !t.clock {
		return ""
	}
	year, month, day := w.now.Date()
	end, same := len(w.text), true
	for _, clock := range otherTimes() {
		w.env.Now = time.Date(year, month, day, 0, 0, 0, 0, w.now.Location()).Add(clock)
		other, reason := w.apply(w.spare[0][:0], t, c, vars, messages)
		w.env.Now, w.spare[0] = w.now, other
		if reason != "" {
			return reason
		}
		same = same && bytes.Equal(w.text, other)
		end = min(end, sharedPrefix(w.text, other))
	}
	if same {
		return ""
	}
	last := &w.parts[len(w.parts)-1]
	if last.Text = w.text[:runeStart(w.text, end)]; len(last.Text) > 0 {
		w.partial = true
	}
	return ReasonClock
}
