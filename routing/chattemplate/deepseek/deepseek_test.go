package deepseek

import (
	"testing"

	"penstock/routing/chattemplate/value"
)

// TestConversationsOfBothVersions has the short ones; more is compared with vLLM in the
// package above.
func TestConversationsOfBothVersions(t *testing.T) {
	t.Parallel()
	f := func(messages string, o Options, v32, v4 string) {
		t.Helper()
		var m value.Memory
		conversation, err := m.Parse([]byte(messages))
		if err != nil {
			t.Fatal(err)
		}
		e := Encoder{Memory: &m}
		got, err := e.AppendV32(nil, conversation, &o)
		if string(got) != v32 && (err == nil || v32 != err.Error()) {
			t.Errorf("V3.2: got %q %v, want %q", got, err, v32)
		}
		if got, err = e.AppendV4(nil, conversation, &o); string(got) != v4 && (err == nil || v4 != err.Error()) {
			t.Errorf("V4: got %q %v, want %q", got, err, v4)
		}
	}
	f(`[{"role":"user","content":"Hi"}]`, Options{}, bos+userTurn+"Hi"+answerTurn+thinkEnd, bos+userTurn+"Hi"+answerTurn+thinkEnd)
	f(`[{"role":"user","content":"Hi"}]`, Options{Thinking: true}, bos+userTurn+"Hi"+answerTurn+thinkStart, bos+userTurn+"Hi"+answerTurn+thinkStart)
	f(`[{"role":"critic","content":"Hi"}]`, Options{}, ErrRefused.Error(), ErrRefused.Error())
	f(`[]`, Options{}, ErrRefused.Error(), ErrRefused.Error())
	f(`[{"role":"tool","content":"x"}]`, Options{}, ErrUnusual.Error(), bos+userTurn+"<tool_result>x</tool_result>"+answerTurn+thinkEnd)
}
