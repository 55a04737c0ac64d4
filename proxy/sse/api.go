package sse

// API is the wire format of a stream or an answer.
type API uint8

// The wire formats. The zero value is APIOther: any data event counts as output.
const (
	APIOther       API = iota
	APIChat            // /v1/chat/completions
	APICompletions     // /v1/completions
	APIResponses       // /v1/responses
	APIMessages        // /v1/messages
	APIGenerate        // SGLang /generate and vLLM /inference/v1/generate
)

// String names the API as in logs and metrics.
func (a API) String() string {
	switch a {
	case APIOther:
		return "other"
	case APIChat:
		return "chat"
	case APICompletions:
		return "completions"
	case APIResponses:
		return "responses"
	case APIMessages:
		return "messages"
	case APIGenerate:
		return "generate"
	}
	return "unknown"
}

// endsWithDone reports whether `data: [DONE]` ends a stream of this API.
func (a API) endsWithDone() bool { return a != APIResponses && a != APIMessages }
