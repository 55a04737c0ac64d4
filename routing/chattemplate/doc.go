// Package chattemplate turns a request of a client into the prompt that the engine
// will make of it: through the model's chat template as the engine runs it, or
// through an encoder of its own where an engine has one (Harmony, DeepSeek V3.2).
//
// It says Exact only when the prompt is the engine's to the last byte, Approximate
// when its start is, and Unknown, with a reason, otherwise. It never guesses.
//
// It is pure: the time is an argument. It starts no goroutine.
package chattemplate
