// Package chattemplate turns a request of a client into the prompt that the engine
// will make of it: through the model's chat template as the engine runs it, or
// through an encoder of its own where an engine has one (Harmony, DeepSeek V3.2).
//
// It says Exact only when the prompt is the engine's to the last byte, Approximate
// when its start is, and Unknown, with a reason, otherwise. It never guesses.
//
// Engines are followed as they were read: vLLM 0.32.0, whose own code wrote the golden
// prompts in testdata, and SGLang 0.5.6 to 0.5.23, whose request models did. Under other
// versions of vLLM prompts are made as for 0.32.0, and comparing them with the engine's
// is up to the caller. TensorRT-LLM's prompts are known only where they are ids.
//
// A Renderer is made once per pool and is immutable; a Worker has the scratch memory of
// one goroutine at a time.
//
// It is pure: the time is an argument. It starts no goroutine.
package chattemplate
