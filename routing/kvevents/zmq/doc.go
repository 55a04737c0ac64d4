// Package zmq listens to the KV events of an engine over ZeroMQ: it subscribes to its PUB
// socket, asks its ROUTER socket for replays, and feeds what comes to a Handler, most
// often a kvevents.Publisher. It owns the connections, their limits and when to connect
// again; it knows nothing of what the batches say.
//
// It speaks the subset of ZMTP 3.1 (https://rfc.zeromq.org/spec/37/) that this takes,
// with peers of 3.0 as well: the NULL mechanism, SUB and DEALER sockets that connect,
// frames of either length, and heartbeats. It never binds: an engine configured to
// connect its PUB socket cannot be heard.
//
// A library would do as well for the rest (github.com/go-zeromq/zmq4 v0.17.0 came back
// after each of three kills of a libzmq publisher when tried), but that one sends no
// pings of its own, so that a publisher that is stopped or cut off is not noticed, and
// makes room for a frame of any size that its head promises.
//
// # Goroutines
//
// Run has one goroutine that holds the subscription and, while a replay is under way,
// one for that. Both hand messages to Run itself, which alone calls the Handler; nothing
// queues but two buffers of each. All have ended when Run returns.
//
// # Tests against real publishers
//
// live_test.go runs the publishers of vLLM and SGLang, and pyzmq alone, where it finds
// them: .cache/e2e/vllm/bin/python with vllm, .cache/zmq/venv/bin/python with pyzmq,
// msgspec and pydantic, and .cache/zmq/sglang/kv_events.py, which is
// sglang/srt/disaggregation/kv_events.py of the sglang package. Without, it skips.
package zmq
