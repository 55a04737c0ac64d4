// Package loadgen sends the requests of a trace to a live endpoint at the times
// the trace says, whether or not earlier ones were answered (open loop), and
// measures what a client would see: time to first token (TTFT), gaps between
// tokens (ITL), end-to-end time, and every way an answer can be wrong.
//
// Latency counts from the intended send, so a stalled server cannot hide behind
// a generator that waited for it. How late the generator itself was is recorded
// apart; a run in which that exceeds 1 ms at the 99th percentile is marked late
// and its latencies measure the generator.
//
// It owns its HTTP/1.1 client. Run starts one goroutine that builds requests and
// one per connection in use, up to Config.Concurrency, and returns when all have
// ended.
package loadgen
