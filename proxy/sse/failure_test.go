package sse

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFirstEvent(t *testing.T) {
	t.Parallel()
	f := func(buf, payload string, end int, ok bool) {
		t.Helper()
		p, e, found := FirstEvent([]byte(buf))
		if string(p) != payload || e != end || found != ok {
			t.Errorf("FirstEvent(%q) = %q, %d, %v", buf, p, e, found)
		}
	}
	f("", "", 0, false)
	f("data: a", "", 0, false)
	f("data: a\n", "", 0, false)
	f("data: a\n\n", "a", 9, true)
	f("\n\n: ping\n\ndata: a\n\ndata: b\n\n", "a", 19, true)
	f("data: a\r\n\r\nx", "a", 11, true)
	f("data: a\r\r", "a", 9, true)
	f("event: e\ndata:a\ndata: b\n\n", "a\nb", 25, true)
	f(": only\n\n", "", 0, false)
}

func TestErrorShapesAreRecognised(t *testing.T) {
	t.Parallel()
	f := func(payload string, status int, isError bool) {
		t.Helper()
		if s, e := ErrorIn([]byte(payload)); s != status || e != isError {
			t.Errorf("ErrorIn(%s) = %d, %v", payload, s, e)
		}
	}
	f(`{"error":{"message":"x","type":"SERVICE_UNAVAILABLE","code":503}}`, 503, true)
	f(`{"error":{"message":"x","code":"503"}}`, 503, true)
	f(`{"error":{"message":"x","type":"invalid_request_error","code":"model_not_found"}}`, 404, true)
	f(`{"error":{"message":"x","type":"invalid_request_error","code":"other"}}`, 400, true)
	f(`{"error":{"message":"x","code":200}}`, 500, true)
	f(`{"error":{"message":"x"}}`, 500, true)
	f(`{"error":"text"}`, 500, true)
	f(`{"error":"Unauthorized"}`, 401, true)
	f(`{"error":null,"object":"chat.completion"}`, 0, false)
	f(`{"object":"error","message":"x","type":"BadRequestError","param":null,"code":400}`, 400, true)
	f(`{"object":"error","message":"x","type":"NotFoundError"}`, 404, true)
	f(`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, 503, true)
	f(`{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`, 429, true)
	f(`{"type":"error","code":"rate_limit_exceeded","message":"x"}`, 429, true)
	f(`{"type":"response.failed","response":{"error":{"code":"server_error"}}}`, 500, true)
	f(`{"choices":[{"error":1}],"text":"{\"error\":{}}"}`, 0, false)
	f(`[1]`, 0, false)
	f(``, 0, false)
	f(`{"error":{"code":5`, 500, true)
}

func TestErrorsAreWrittenInTheShapeOfTheAPI(t *testing.T) {
	t.Parallel()
	fail := Failure{Status: 503, Code: "penstock_x", Message: "a \"b\"\n", Sequence: 4}
	f := func(api API, event, body string) {
		t.Helper()
		if got := string(AppendErrorEvent(nil, api, fail)); got != event+"\n\n" {
			t.Errorf("%s event: %q", api, got)
		}
		if got := string(AppendErrorBody(nil, api, fail)); got != body {
			t.Errorf("%s body: %s", api, got)
		}
	}
	openAI := `{"error":{"message":"a \"b\"\u000a","type":"overloaded_error","param":null,"code":"penstock_x"}}`
	anthropic := `{"type":"error","error":{"type":"overloaded_error","message":"a \"b\"\u000a"}}`
	for _, api := range []API{APIOther, APIChat, APICompletions, APIGenerate} {
		f(api, "data: "+openAI, openAI)
	}
	f(APIMessages, "event: error\ndata: "+anthropic, anthropic)
	f(APIResponses, "event: error\ndata: "+`{"type":"error","code":"penstock_x","message":"a \"b\"\u000a","param":null,"sequence_number":4}`, openAI)
}

func TestErrorTypesFollowTheStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int][2]string{
		400: {"invalid_request_error", "invalid_request_error"},
		401: {"authentication_error", "authentication_error"},
		403: {"permission_error", "permission_error"},
		404: {"not_found_error", "not_found_error"},
		413: {"invalid_request_error", "request_too_large"},
		429: {"rate_limit_error", "rate_limit_error"},
		500: {"server_error", "api_error"},
		502: {"server_error", "api_error"},
		503: {"overloaded_error", "overloaded_error"},
		504: {"timeout_error", "timeout_error"},
		529: {"server_error", "overloaded_error"},
	} {
		if openAIType(status) != want[0] || anthropicType(status) != want[1] {
			t.Errorf("%d: %s, %s", status, openAIType(status), anthropicType(status))
		}
	}
}

// FuzzAppendError: an error event is one event, valid JSON, recognised by
// ErrorIn with a status of its own class, and marks the stream failed, not done.
func FuzzAppendError(f *testing.F) {
	f.Add(uint8(1), 503, "code", "me\"ss\r\n\nage\xff: [DONE]")
	f.Add(uint8(3), 404, "", "data: [DONE]\n\n")
	f.Fuzz(func(t *testing.T, a uint8, status int, code, message string) {
		api := API(a) % (APIGenerate + 1)
		fail := Failure{Status: status, Code: code, Message: message}
		if body := AppendErrorBody(nil, api, fail); !json.Valid(body) {
			t.Fatalf("%s", body)
		}
		event := AppendErrorEvent(nil, api, fail)
		payload, end, ok := FirstEvent(event)
		if !ok || end != len(event) || !json.Valid(payload) {
			t.Fatalf("%q", event)
		}
		if _, isError := ErrorIn(payload); !isError {
			t.Fatalf("%s is no error", payload)
		}
		s, _ := track(api, 1<<20, string(event))
		if !s.Failed || s.Done || s.Events != 1 || s.ContentEvents != 0 {
			t.Fatalf("%q gives %+v", event, s)
		}
		var doc struct {
			Message string
			Error   struct{ Message string }
		}
		if json.Unmarshal(payload, &doc) != nil || doc.Message+doc.Error.Message != strings.ToValidUTF8(message, "\uFFFD") && string([]rune(message)) != doc.Message+doc.Error.Message {
			t.Fatalf("message %q became %s", message, payload)
		}
	})
}
