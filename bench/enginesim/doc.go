// Package enginesim is a simulated inference server: real HTTP in the dialects
// of vLLM, SGLang and TensorRT-LLM in front of the engine model of package core.
//
// It owns the wire shapes, the wall clock and the faults that tests ask for. It
// never looks at a real model: answers are words that follow from prompt and
// seed, and time comes from documented constants.
//
// Goroutines: one runner per data-parallel rank, started by the first call of
// Handler or Serve, and those of net/http. Close stops all of them.
package enginesim
