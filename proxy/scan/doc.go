// Package scan reads the JSON body of an inference request once, in place, and
// finds the members that routing needs without decoding the rest.
//
// It is pure: no I/O, clock, lock or goroutine. A warm Result makes a scan free
// of allocations, and everything a Result points at aliases the scanned body.
//
// # What is checked
//
// The whole document must be valid JSON by RFC 8259: balanced, valid escapes,
// numbers and literals, valid UTF-8, nothing but white space after the value,
// nesting and number of values within Limits. Two deliberate differences from
// encoding/json's Valid: invalid UTF-8 inside a string is refused here, and
// nesting beyond Limits.Depth is refused here (encoding/json stops at 10,000).
// A byte order mark is refused by both. An unpaired surrogate escape is valid
// by the grammar and passes, except in a string that is decoded for routing,
// because engines disagree about what it means.
//
// Members are matched by exact name after unescaping, as the engines do, so
// that "mod\u0065l" is "model" and "Model" is not. A routing member that occurs
// twice is refused: gateway and engine could each act on another one. Members
// that routing does not read may repeat and are left alone.
//
// null counts as absent everywhere, as in vLLM and SGLang. A routing member of
// another wrong type is refused, except with KindGeneric, where an unknown
// route may give the same name another meaning; there it counts as absent.
//
// # Where the names come from
//
// OpenAI chat, completions, responses and embeddings; Anthropic messages;
// vLLM's /inference/v1/generate, tokenize, score and rerank; SGLang's /generate;
// TensorRT-LLM's chat extensions. Field lists them all, with the kinds of
// request in which each one is looked at.
//
// Injection members (see Field.Injected) are those by which a client could aim
// an engine at another host, rank or request: KV transfer parameters, bootstrap
// addresses, data-parallel ranks, engine-side request ids. Editor cuts them.
//
// # Edits
//
// Editor turns decisions (cut, replace, add) into a sorted list of splices of
// the original bytes. Everything outside the splices stays byte for byte: key
// order, big integers, white space, repeated members.
package scan
