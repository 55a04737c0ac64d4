package trace

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// ChatMix describes multi-turn chats whose system prompts are shared: the load
// in which routing to the replica that holds the prefix pays.
type ChatMix struct {
	Window       time.Duration // sessions start, and turns arrive, within it
	Rate         float64       // sessions per second
	Turns        int           // mean turns of a session, geometric
	Think        time.Duration // mean time from one turn to the next, at least a quarter of it
	Systems      int           // distinct system prompts, the first the most common
	SystemTokens int           // length of a system prompt
	UserTokens   int           // mean length of what the user adds per turn
	AnswerTokens int           // mean length of an answer
	Seed         uint64
}

// Demo is the built-in mix, sized for four simulated replicas with the timing of
// a 32B model: over a minute, about twelve requests per second with prompts of
// 5,000 tokens. Without any cache they would prefill most of the time.
func Demo(window time.Duration, seed uint64) ChatMix {
	return ChatMix{
		Window: window, Rate: 0.9, Turns: 12, Think: 900 * time.Millisecond,
		Systems: 4, SystemTokens: 400, UserTokens: 350, AnswerTokens: 40, Seed: seed,
	}
}

// Generate makes the trace of m. Answers are made up beforehand, so turn n is
// the same text whatever an engine answered to turn n-1. The load is level from
// the start: the sessions that would be running then are, somewhere in the
// middle of their conversations.
func (m ChatMix) Generate() *Trace {
	r := newRand(m.Seed)
	t := &Trace{Name: "chat mix", BlockTokens: mooncakeBlock}
	running := int(m.Rate * float64(m.Turns) * m.Think.Seconds())
	for n := range running {
		m.session(t, r, n, time.Duration(2*r.Float64()*float64(m.Think)), r.IntN(m.Turns/3+1))
	}
	for n, at := running, 0.0; ; n++ {
		at += r.ExpFloat64() / m.Rate
		start := time.Duration(at * float64(time.Second))
		if start >= m.Window {
			break
		}
		m.session(t, r, n, start, 0)
	}
	t.sort()
	return t
}

// session adds the turns of one conversation. The first past of them happened
// before the trace and are only its history.
func (m ChatMix) session(t *Trace, r *rand.Rand, n int, at time.Duration, past int) {
	name := "chat-" + strconv.Itoa(n)
	id := scramble(uint64(n)+1, m.Seed)
	system := min(int(r.ExpFloat64()*float64(m.Systems)/2), m.Systems-1)
	messages := []Message{{Role: "system", Content: text(scramble(uint64(system), ^m.Seed), m.SystemTokens)}}
	input := m.SystemTokens
	for turn := 0; at < m.Window; turn++ {
		ask, answer := around(r, m.UserTokens), around(r, m.AnswerTokens)
		messages = append(messages, Message{Role: "user", Content: text(mix(&id), ask)})
		input += ask
		if turn >= past {
			t.Requests = append(t.Requests, Request{
				At: at, Input: input, Output: answer, Session: name,
				Messages: slices.Clip(messages),
			})
			if r.Float64()*float64(m.Turns) < 1 {
				return
			}
			at += time.Duration(r.ExpFloat64()*float64(m.Think)*0.75) + m.Think/4
		}
		messages = append(messages, Message{Role: "assistant", Content: text(mix(&id), answer)})
		input += answer
	}
}

// around draws from half to one and a half times mean, at least 1.
func around(r *rand.Rand, mean int) int {
	return max(1, mean/2+r.IntN(mean+1))
}

func text(id uint64, tokens int) string {
	return string(AppendText(nil, id, tokens*bytesPerToken))
}
