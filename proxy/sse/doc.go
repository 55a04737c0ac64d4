// Package sse follows a stream of server-sent events as its bytes pass by, and
// reads and writes the error and usage shapes of the APIs that the engines speak.
//
// It is pure: no I/O, clock, lock or goroutine. It never changes a stream, with
// one exception that must be asked for: UsageFilter takes out the usage-only
// event that the gateway itself requested.
//
// # Framing
//
// Tracker.Feed takes chunks cut anywhere: inside an event, a line end or a
// character. Lines end in LF, CRLF or CR; a blank line ends an event; lines that
// begin with a colon are comments; several data lines form one payload, joined
// by LF (the event stream format of the HTML standard). The result does not
// depend on where the cuts are. An event that arrives whole is read in place;
// one that spans chunks is gathered in a bounded buffer. An event longer than the
// bound is passed over: of it only the type, when it stands in the first bytes
// kept, is looked at.
//
// # What an event means
//
//   - chat and completions (OpenAI; vLLM, SGLang, TensorRT-LLM): `data: <json>`
//     with choices[].delta or choices[].text and choices[].finish_reason; an
//     optional usage-only event with `choices: []`; the end is `data: [DONE]`,
//     sent by vLLM after an error too. finish_reason "abort" means that the
//     engine dropped the request, with status 200.
//   - responses (OpenAI): `event: <type>` and `data: <json>` with the same type;
//     the end is response.completed, .failed, .incomplete or .cancelled, which
//     carries response.usage.
//   - messages (Anthropic): the same framing; message_start has message.usage,
//     message_delta has usage and delta.stop_reason, message_stop is the end.
//   - generate: SGLang's /generate has text or output_ids and meta_info with
//     finish_reason and token counts; vLLM's /inference/v1/generate has
//     choices[].token_ids and usage. Both end in [DONE].
//
// An error in a stream is `data: {"error":{...,"code":503}}` (code may be a
// string, error may be a string), SGLang's flat {"object":"error",...,"code":N},
// Anthropic's {"type":"error","error":{"type",...}} or the responses API's
// {"type":"error","code",...}. With status 200 already sent, it is the only sign.
//
// # Token counts
//
// usage has prompt_tokens, completion_tokens and prompt_tokens_details
// .cached_tokens for chat and completions; input_tokens, output_tokens and
// input_tokens_details.cached_tokens for responses. Anthropic's input_tokens
// leaves cached tokens out, so Usage.Prompt adds cache_read_input_tokens and
// cache_creation_input_tokens. Servers report cached tokens only when told to,
// hence Usage.CachedKnown.
//
// Member names are compared as written: engines do not escape ASCII in names.
package sse
