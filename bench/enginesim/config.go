package enginesim

import (
	"errors"
	"fmt"
	"time"

	"penstock/bench/enginesim/core"
)

// Dialect is the server that is imitated.
type Dialect string

// The dialects.
const (
	VLLM   Dialect = "vllm"
	SGLang Dialect = "sglang"
	TRTLLM Dialect = "trtllm"
)

// Config describes a simulated server. Start from Default: a zero value means
// zero, not a default.
type Config struct {
	Dialect  Dialect
	Model    string
	Adapters []string    // LoRA names that are loaded
	Engine   core.Config // one rank
	Ranks    int         // data-parallel ranks, each an engine of its own; at least 1
	Speed    float64     // simulated seconds per wall second; 1 is real time
	Seed     int64       // of ids; answers do not depend on it
	Version  string      // what /version says

	MeanOutput  int  // tokens of an answer that ends by itself
	LogTail     int  // requests remembered for Stats
	CacheReport bool // usage says how much of the prompt was cached
	ForceUsage  bool // streams carry usage without being asked
	EchoID      bool // X-Request-Id comes back as a response header

	StoreResponses    bool   // /v1/responses keeps answers, in this process only
	AllowHeaderFaults bool   // a request may bring its own fault in x-sim-fault
	APIKey            string // required on protected routes; empty means none

	KeepAlive       time.Duration // idle connections are closed after this
	HealthDelay     time.Duration // /health answers no sooner
	GoneDelay       time.Duration // until a client that left is noticed, answer in one piece
	GoneDelayStream time.Duration // the same, streamed answer
	HeartbeatEvery  time.Duration // pace of fault comments_only
	MetricsWait     time.Duration // how long TensorRT-LLM's /metrics waits for news
	Now             func() time.Time

	// Observer, if not nil, is asked once per rank for who hears what the cache
	// of that rank holds. It is called between steps, under the rank's lock, and
	// must not block.
	Observer func(rank int) core.Observer
}

// Default is a server with the habits of d, on the small engine of core.Default.
func Default(d Dialect) Config {
	c := Config{
		Dialect: d, Model: "sim", Engine: core.Default(), Ranks: 1, Speed: 1,
		MeanOutput: 64, LogTail: 256, StoreResponses: true,
		KeepAlive: 5 * time.Second, HeartbeatEvery: 100 * time.Millisecond, Now: time.Now,
	}
	switch d {
	case VLLM:
		c.Version = "0.29.0"
	case SGLang:
		c.Version = "0.5.18"
		c.HealthDelay = time.Second         // its health check waits for a generated token in 1 s polls
		c.GoneDelay = 4 * time.Second       // polled every 4 s
		c.GoneDelayStream = 2 * time.Second // aborted 2 s after the response ends
		c.Engine.BlockSize, c.Engine.Blocks = 16, 8192
		c.Engine.Dedupe = true // a radix tree holds each prefix once
	case TRTLLM:
		c.Version = "1.2.0"
		c.GoneDelay, c.GoneDelayStream = time.Second, time.Second // polled every 1 s
		c.MetricsWait = 2 * time.Second
		c.Engine.BlockSize, c.Engine.Blocks = 32, 4096
		c.Engine.Dedupe = true
	}
	return c
}

// Validate reports everything that is wrong with c.
func (c *Config) Validate() error {
	var errs []error
	switch c.Dialect {
	case VLLM, SGLang, TRTLLM:
	default:
		errs = append(errs, fmt.Errorf("cannot speak dialect %q: want vllm, sglang or trtllm", c.Dialect))
	}
	if c.Model == "" {
		errs = append(errs, errors.New("cannot serve a model without a name"))
	}
	if c.Ranks < 1 || c.Speed <= 0 || c.MeanOutput < 1 || c.LogTail < 0 {
		errs = append(errs, errors.New("cannot use fewer than one rank, a speed or mean output that is not positive, or a negative limit"))
	}
	if c.Now == nil {
		errs = append(errs, errors.New("cannot tell the time without Now"))
	}
	errs = append(errs, c.Engine.Validate())
	return errors.Join(errs...)
}
