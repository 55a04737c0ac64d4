//go:build linux

package faults

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"penstock/configs"
)

// questions are one request for each shape of answer that can be cut.
var questions = map[string]string{
	"chat, stream":        (&Chat{Tokens: 20, Stream: true}).Raw(),
	"chat":                (&Chat{Tokens: 20}).Raw(),
	"completions, stream": RawPost("/v1/completions", `{"model":"sim","prompt":"Where to?","max_tokens":20,"ignore_eos":true,"stream":true}`),
	"completions":         RawPost("/v1/completions", `{"model":"sim","prompt":"Where to?","max_tokens":20,"ignore_eos":true}`),
	"messages, stream":    RawPost("/v1/messages", `{"model":"sim","max_tokens":20,"stream":true,"messages":[{"role":"user","content":"Where to?"}]}`),
	"messages":            RawPost("/v1/messages", `{"model":"sim","max_tokens":20,"messages":[{"role":"user","content":"Where to?"}]}`),
	"responses, stream":   RawPost("/v1/responses", `{"model":"sim","input":"Where to?","max_output_tokens":20,"stream":true}`),
	"responses":           RawPost("/v1/responses", `{"model":"sim","input":"Where to?","max_output_tokens":20}`),
}

// TestTenThousandUpstreamKills lets engines die at random bytes of their answers
// and checks that no client could take a cut answer for a whole one. In ordinary
// runs it stops at some hundred kills; PENSTOCK_KILLS says how many, and 10000
// is what the gate asks for.
func TestTenThousandUpstreamKills(t *testing.T) {
	real(t)
	kills := int64(400)
	if text := os.Getenv("PENSTOCK_KILLS"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("cannot read PENSTOCK_KILLS: %v", err)
		}
		kills = n
	}
	want := wholeAnswers(t)
	var fleet []*Mortal
	var urls []string
	for i := range 3 {
		m, err := StartMortal(t.Context(), RandomLives(uint64(i)+1, 9000))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		fleet, urls = append(fleet, m), append(urls, m.URL)
	}
	g := start(t, urls, pool(func(p *configs.Pool) { p.Breaker.Failures = 0 }))
	died := func() (n int64) {
		for _, m := range fleet {
			n += m.Kills()
		}
		return n
	}
	count := g.askUntil(want, func() bool { return died() >= kills })
	t.Logf("%d kills: %s", died(), count)
	if count.whole.Load() == 0 || count.cut.Load() == 0 {
		t.Error("the kills were too many or too few to show anything")
	}
}

// tally counts how answers ended.
type tally struct{ whole, cut, refused atomic.Int64 }

func (c *tally) String() string {
	return strconv.FormatInt(c.whole.Load(), 10) + " whole answers, " + strconv.FormatInt(c.cut.Load(), 10) +
		" cut and said so, " + strconv.FormatInt(c.refused.Load(), 10) + " refused"
}

// wholeAnswers asks an engine that does not die.
func wholeAnswers(t *testing.T) map[string]string {
	t.Helper()
	e := engine(t, 0)
	want := map[string]string{}
	for name, raw := range questions {
		a, err := Ask(t.Context(), strings.TrimPrefix(e.URL, "http://"), raw)
		if err != nil || !a.Complete() || a.Text == "" {
			t.Fatalf("%s: %v, %v", name, a, err)
		}
		want[name] = a.Text
	}
	return want
}

// askUntil asks all questions again and again, from eight clients, and judges
// every answer.
func (r *rig) askUntil(want map[string]string, enough func() bool) *tally {
	r.t.Helper()
	var count tally
	var clients sync.WaitGroup
	names := make([]string, 0, len(questions))
	for name := range questions {
		names = append(names, name)
	}
	for i := range 8 {
		clients.Go(func() {
			for round := i; !enough() && !r.t.Failed(); round++ {
				name := names[round%len(names)]
				a, err := Ask(r.t.Context(), r.Data, questions[name])
				switch {
				case err != nil:
					// The head itself never came: nothing that could be taken
					// for an answer, but the gateway owes one.
					r.t.Errorf("%s: %v", name, err)
				case a.Complete() && a.Text != want[name]:
					r.t.Errorf("%s: a cut answer looks whole: %s", name, a)
				case a.Complete():
					count.whole.Add(1)
				case a.StatusCode >= 500:
					count.refused.Add(1)
				default:
					count.cut.Add(1)
				}
			}
		})
	}
	clients.Wait()
	return &count
}

// The same with processes that get kill -9 and come back on their port.
func TestKilledProcessesCutNoAnswerUnnoticed(t *testing.T) {
	real(t)
	want := wholeAnswers(t)
	var urls []string
	var fleet []*Process
	for range 2 {
		p := process(t, "--speed", "10")
		urls, fleet = append(urls, p.URL), append(fleet, p)
	}
	g := start(t, urls, pool(func(p *configs.Pool) { p.Breaker.Failures = 0 }))
	var stop atomic.Bool
	var reaper sync.WaitGroup
	reaper.Go(func() {
		defer stop.Store(true)
		r := rand.New(rand.NewPCG(1, 2))
		for kill := range 24 {
			<-time.After(time.Duration(r.IntN(60)) * time.Millisecond)
			i := kill % len(fleet)
			_ = fleet[i].Signal(syscall.SIGKILL)
			_ = fleet[i].Close()
			p, err := binary.StartProcess(t.Context(), "--speed", "10", "--listen", fleet[i].Address())
			if err != nil {
				t.Error(err)
				return
			}
			fleet[i] = p
		}
	})
	count := g.askUntil(want, stop.Load)
	reaper.Wait()
	for _, p := range fleet {
		_ = p.Close()
	}
	t.Log(count)
}
