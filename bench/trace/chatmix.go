package trace

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// ChatMix describes multi-turn chats whose system prompts are shared: the load
// in which routing to the replica that holds the prefix pays.
type ChatMix struct {
	Window       time.Duration // sessions start, and turns arrive, within it
	Rate         float64       // sessions per second
	Turns        int           // mean turns of a session, geometric
	Think        time.Duration // mean time from one turn to the next, exponential
	Systems      int           // distinct system prompts, the first the most common
	SystemTokens int           // length of a system prompt
	UserTokens   int           // mean length of what the user adds per turn
	AnswerTokens int           // mean length of an answer
	Seed         uint64
}

// Demo is the built-in mix, sized for four simulated replicas of the default
// timing: about eight requests per second of 3,000 prompt tokens, half of what
// they could prefill without any cache.
func Demo(window time.Duration, seed uint64) ChatMix {
	return ChatMix{
		Window: window, Rate: 1.6, Turns: 7, Think: 900 * time.Millisecond,
		Systems: 4, SystemTokens: 1200, UserTokens: 450, AnswerTokens: 40, Seed: seed,
	}
}

// Generate makes the trace of m. Answers are made up beforehand, so turn n is
// the same text whatever an engine answered to turn n-1.
func (m ChatMix) Generate() *Trace {
	r := newRand(m.Seed)
	t := &Trace{Name: "chat mix", BlockTokens: mooncakeBlock}
	// The first sessions are in full swing at the start; later ones arrive as a
	// Poisson process.
	for n, at := 0, 0.0; ; n++ {
		if n >= int(m.Rate) {
			at += r.ExpFloat64() / m.Rate
		}
		start := time.Duration(at * float64(time.Second))
		if start >= m.Window {
			break
		}
		m.session(t, r, n, start)
	}
	t.sort()
	return t
}

func (m ChatMix) session(t *Trace, r *rand.Rand, n int, at time.Duration) {
	name := "chat-" + strconv.Itoa(n)
	id := scramble(uint64(n)+1, m.Seed)
	system := min(int(r.ExpFloat64()*float64(m.Systems)/2), m.Systems-1)
	messages := []Message{{Role: "system", Content: text(scramble(uint64(system), ^m.Seed), m.SystemTokens)}}
	input := m.SystemTokens
	for at < m.Window {
		ask, answer := around(r, m.UserTokens), around(r, m.AnswerTokens)
		messages = append(messages, Message{Role: "user", Content: text(mix(&id), ask)})
		input += ask
		t.Requests = append(t.Requests, Request{
			At: at, Input: input, Output: answer, Session: name,
			Messages: messages[:len(messages):len(messages)],
		})
		if r.Float64()*float64(m.Turns) < 1 {
			return
		}
		messages = append(messages, Message{Role: "assistant", Content: text(mix(&id), answer)})
		input += answer
		at += time.Duration(r.ExpFloat64()*float64(m.Think)) + m.Think/4
	}
}

// around draws from half to one and a half times mean, at least 1.
func around(r *rand.Rand, mean int) int {
	return max(1, mean/2+r.IntN(mean+1))
}

func text(id uint64, tokens int) string {
	return string(AppendText(nil, id, tokens*bytesPerToken))
}
