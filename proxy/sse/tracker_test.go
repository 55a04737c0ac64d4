package sse

import (
	"fmt"
	"strings"
	"testing"
)

const chatStream = `: hello

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" there"},"logprobs":null,"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" \"data: [DONE]\" é"},"logprobs":null,"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}

: ping

data: {"id":"c","choices":[],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

`

const responsesStream = `event: response.created
data: {"type":"response.created","response":{"status":"in_progress","usage":null},"sequence_number":0}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"Hi","sequence_number":1}

data: {"type":"response.output_text.delta","delta":"Hi","sequence_number":2}

event: response.completed
data: {"type":"response.completed","response":{"output":[{"usage":9}],"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":2},"output_tokens":2}},"sequence_number":3}

`

const messagesStream = `event: message_start
data: {"type":"message_start","message":{"id":"x","usage":{"input_tokens":3,"cache_read_input_tokens":16,"output_tokens":1}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}}

event: message_stop
data: {"type":"message_stop"}

`

const generateStream = `data: {"text":"Hi","output_ids":[1],"meta_info":{"id":"g","finish_reason":null,"prompt_tokens":4,"completion_tokens":1,"cached_tokens":0}}

data: {"text":"Hi you","output_ids":[2],"meta_info":{"id":"g","finish_reason":{"type":"abort","message":"m"},"prompt_tokens":4,"completion_tokens":2,"cached_tokens":0}}

data: [DONE]

`

func track(api API, limit int, chunks ...string) (State, []Boundary) {
	t := Tracker{Limit: limit}
	t.Reset(api)
	var all []Boundary
	for _, c := range chunks {
		all = append(all, t.Feed([]byte(c)))
	}
	return t.State(), all
}

func TestStreamsAreUnderstood(t *testing.T) {
	t.Parallel()
	f := func(name string, api API, stream string, want State) {
		t.Helper()
		for _, ends := range []string{"\n", "\r\n", "\r"} {
			got, all := track(api, 0, strings.ReplaceAll(stream, "\n", ends))
			if got != want {
				t.Errorf("%s with %q:\n got %+v\nwant %+v", name, ends, got, want)
			}
			if n := len(strings.ReplaceAll(stream, "\n", ends)); strings.HasSuffix(stream, "\n\n") && all[0].End != n {
				t.Errorf("%s with %q: boundary %d of %d", name, ends, all[0].End, n)
			}
		}
	}
	f("chat", APIChat, chatStream, State{Events: 7, ContentEvents: 3, Comments: 2, Done: true, FinishReason: true, Usage: Usage{5, 3, 4, true, true}})
	f("completions", APICompletions, `data: {"choices":[{"index":0,"text":"a","finish_reason":null}]}`+"\n\n"+`data: {"choices":[{"index":0,"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":null}}`+"\n\n",
		State{Events: 2, ContentEvents: 1, FinishReason: true, Usage: Usage{1, 1, 0, true, false}})
	f("responses", APIResponses, responsesStream, State{Events: 4, ContentEvents: 2, Done: true, FinishReason: true, Usage: Usage{7, 2, 2, true, true}})
	f("messages", APIMessages, messagesStream, State{Events: 6, ContentEvents: 1, Done: true, FinishReason: true, Usage: Usage{19, 12, 16, true, true}})
	f("generate", APIGenerate, generateStream, State{Events: 3, ContentEvents: 2, Done: true, FinishReason: true, Aborted: true, Usage: Usage{4, 2, 0, true, true}})
	f("vllm generate", APIGenerate, `data: {"request_id":"r","choices":[{"index":0,"token_ids":[5],"finish_reason":null}],"usage":null}`+"\n\n", State{Events: 1, ContentEvents: 1})
	f("abort", APIChat, `data: {"choices":[{"delta":{},"finish_reason":"abort"}]}`+"\n\ndata: [DONE]\n\n", State{Events: 2, Done: true, FinishReason: true, Aborted: true})
	f("error", APIChat, `data: {"error":{"message":"x","code":503}}`+"\n\ndata: [DONE]\n\n", State{Events: 2, Done: true, Failed: true, FailureStatus: 503})
	f("flat error", APIGenerate, `data: {"object":"error","message":"x","code":"400"}`+"\n\n", State{Events: 1, Failed: true, FailureStatus: 400})
	f("named error", APIChat, "event: error\ndata: broken\n\n", State{Events: 1, Failed: true, FailureStatus: 500})
	f("messages error", APIMessages, "event: error\n"+`data: {"type":"error","error":{"type":"overloaded_error"}}`+"\n\n", State{Events: 1, Failed: true, FailureStatus: 503})
	f("responses failed", APIResponses, `data: {"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded"}}}`+"\n\n", State{Events: 1, Done: true, Failed: true, FailureStatus: 429})
	f("responses error", APIResponses, `data: {"type":"error","code":null,"message":"x"}`+"\n\n", State{Events: 1, Failed: true, FailureStatus: 500})
	f("responses ends otherwise", APIResponses, "data: [DONE]\n\n", State{Events: 1})
	f("tool call", APIChat, `data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`+"\n\n", State{Events: 1, ContentEvents: 1})
	f("no finish", APIChat, `data: {"choices":[{"delta":{"content":"a"},"finish_reason":null}]}`+"\n\n", State{Events: 1, ContentEvents: 1})
	f("two data lines", APIChat, "data: {\"choices\":[],\ndata:\"usage\":{\"prompt_tokens\":2}}\n\n", State{Events: 1, Usage: Usage{Prompt: 2, Known: true}})
	f("byte order mark", APIChat, "\xef\xbb\xbfdata: [DONE]\n\n", State{Events: 1, Done: true})
	f("DONE without space", APIChat, "data:[DONE]\n\n", State{Events: 1, Done: true})
	f("fields without data", APIChat, "id: 7\nretry: 10\n\n\n\n", State{Comments: 1})
	f("unfinished", APIChat, "data: [DONE]\n", State{})
	f("other", APIOther, "data: x\n\ndata: {\"error\":1}\n\ndata: [DONE]\n\n", State{Events: 3, ContentEvents: 1, Failed: true, FailureStatus: 500, Done: true})
	f("not JSON", APIChat, "data: hello\n\n", State{Events: 1, ContentEvents: 1})
}

func TestLongEventsPassUninspected(t *testing.T) {
	t.Parallel()
	long := `{"type":"response.completed","response":{"x":"` + strings.Repeat("y", 500) + `"}}`
	stream := "event: response.completed\ndata: " + long + "\n\ndata: " + long + "\n\ndata: {\"a\":\"" + strings.Repeat("z", 500) + "\"}\n\n"
	want := State{Events: 3, ContentEvents: 1, Skipped: 3, Done: true, FinishReason: true}
	for _, n := range []int{1, 7, 100, len(stream)} {
		tr := Tracker{Limit: 100}
		tr.Reset(APIResponses)
		for i := 0; i < len(stream); i += n {
			tr.Feed([]byte(stream[i:min(i+n, len(stream))]))
			if cap(tr.framer.tail) > 256 {
				t.Fatalf("tail holds %d bytes", cap(tr.framer.tail))
			}
		}
		if got := tr.State(); got != want {
			t.Errorf("in pieces of %d:\n got %+v\nwant %+v", n, got, want)
		}
	}
}

func TestBoundaryIsBehindTheLastCompleteEvent(t *testing.T) {
	t.Parallel()
	f := func(want string, chunks ...string) {
		t.Helper()
		tr := Tracker{}
		tr.Reset(APIChat)
		got := ""
		for _, c := range chunks {
			at := tr.Feed([]byte(c))
			got += fmt.Sprintf("%d/%d/%v ", at.End, at.Events+at.Comments, tr.AtBoundary())
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%q: got %s, want %s", chunks, got, want)
		}
	}
	f("0/0/true", "")
	f("9/1/true", "data: a\n\n")
	f("9/1/false", "data: a\n\ndata: b")
	f("0/0/false 1/1/true", "data: a\n", "\n")
	f("0/0/false 2/1/false", "data: a", "\n\nd")
	f("10/1/true 1/0/true", "data: a\r\n\r", "\n")
	f("10/1/true 0/0/false", "data: a\r\n\r", "data")
	f("9/1/true", "data: a\r\r")
	f("0/0/false 2/1/true", "data: a\r", "\n\n")
	f("4/1/true", ":x\n\n")
}

func TestPatternMeansTheSameAsAWalk(t *testing.T) {
	t.Parallel()
	event := func(text string) string {
		return `{"choices":[{"delta":{"content":"` + text + `"},"finish_reason":null}]}`
	}
	var p pattern
	first := event("one")
	f, _ := chunk([]byte(first))
	p.learn([]byte(first), &f)
	for payload, want := range map[string]bool{
		event("two"):        true,
		event(`a\nb`):       true,
		event("é"):          true,
		event(""):           false, // carries nothing
		event(`"`):          false,
		event(`a\"b\\`):     true,
		event(`a\\"`):       false,
		event(`a\`):         false, // the quote behind is escaped
		event(`x"},"y":{"`): false,
		strings.Replace(event("two"), "null", `"stop"`, 1): false,
		first[:len(first)-1]: false,
		"":                   false,
	} {
		if p.match([]byte(payload)) != want {
			t.Errorf("match(%s) = %v", payload, !want)
		}
	}
}

func TestResetForgetsEverything(t *testing.T) {
	t.Parallel()
	var tr Tracker
	tr.Reset(APIChat)
	tr.Feed([]byte(chatStream + "data: {"))
	tr.Reset(APIChat)
	if !tr.AtBoundary() || tr.State() != (State{}) {
		t.Errorf("after Reset: %+v", tr.State())
	}
}
