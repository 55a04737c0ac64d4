package admin

import (
	"context"
	"errors"
)

// Errors that a Fleet returns and the API tells apart.
var (
	ErrNoPool    = errors.New("admin: no such pool")
	ErrNoReplica = errors.New("admin: no such replica")
	ErrExists    = errors.New("admin: the replica is registered already")
)

// Snapshotter shows the pools as they are now.
type Snapshotter interface {
	// Snapshot returns all pools in configured order. The result is the
	// caller's own.
	Snapshot() []Pool
}

// Editor changes which replicas there are. Changes hold over a reload.
type Editor interface {
	// Add registers a replica and returns its id: ErrNoPool, ErrExists.
	Add(ctx context.Context, pool string, w Worker) (id string, err error)
	// Update changes what is set in c: ErrNoPool, ErrNoReplica.
	Update(ctx context.Context, pool, id string, c Change) error
	// Remove takes a replica out; running requests finish within the pool's
	// drain time: ErrNoPool, ErrNoReplica.
	Remove(ctx context.Context, pool, id string) error
}

// Drainer stops new requests to a replica, and lets them in again. Both are
// idempotent: ErrNoPool, ErrNoReplica.
type Drainer interface {
	Drain(pool, id string) error
	Undrain(pool, id string) error
}

// Fleet is what the admin side may see and do.
type Fleet interface {
	Snapshotter
	Editor
	Drainer
}

// Engines sends one small request to a replica's engine, with the pool's
// credentials, transport security and deadline.
type Engines interface {
	Call(ctx context.Context, pool, id, method, path string) (Answer, error)
}

// Answer is what an engine said.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
}

// Pool is one pool in a snapshot.
type Pool struct {
	Name     string    `json:"name"`
	Engine   string    `json:"engine"` // vllm, sglang, trtllm, openai; auto: not known yet
	Policy   string    `json:"policy"`
	Models   []string  `json:"models"`
	Default  bool      `json:"default"`
	Panic    bool      `json:"panic"` // too few healthy: health is ignored
	Replicas []Replica `json:"replicas"`
	// Tokenizer is how the pool's prompts are keyed; left out when they are not.
	Tokenizer *Tokenizer `json:"tokenizer,omitempty"`
}

// Tokenizer is a pool's tokenizer in a snapshot.
type Tokenizer struct {
	State         string `json:"state"`              // off, loading, ready, degraded, refused
	Reason        string `json:"reason,omitempty"`   // why keys are not exact
	Detail        string `json:"detail,omitempty"`   // what the refusal or the last comparison said
	Template      string `json:"template,omitempty"` // why chats cannot be rendered
	Parity        string `json:"parity"`             // pending, passed, unsupported_for_chats, failed, unsupported, off
	Checked       string `json:"checked,omitempty"`  // last comparison with an engine, RFC 3339
	Engine        string `json:"engine"`             // whose prompts are made; auto: not known yet
	EngineVersion string `json:"engine_version"`     // empty: not known
	Kind          string `json:"kind"`
	Family        string `json:"family"`
	Vocabulary    int    `json:"vocabulary"`
	Digest        string `json:"digest"` // SHA-256 of the files
	Bytes         int64  `json:"bytes"`  // of the shared tables
	BlockSize     int    `json:"block_size"`
	MemoPlaces    int    `json:"memo_places"` // places in known prompts
	MemoBytes     int64  `json:"memo_bytes"`
}

// Replica is one replica in a snapshot.
type Replica struct {
	ID             string            `json:"id"`
	URL            string            `json:"url"`
	Epoch          uint64            `json:"epoch"`
	State          string            `json:"state"`   // pending, ready, down, tripped, draining
	Healthy        bool              `json:"healthy"` // takes new requests
	Registered     bool              `json:"registered"`
	Weight         int               `json:"weight"`
	Ranks          int               `json:"ranks"`
	MaxConcurrency int               `json:"max_concurrency"` // 0: no limit
	Models         []string          `json:"models"`          // empty: all of the pool
	Labels         map[string]string `json:"labels,omitempty"`
	InFlight       int               `json:"in_flight"`
	Tokens         int64             `json:"tokens"`   // leased and not settled
	Running        int               `json:"running"`  // the engine's own; -1 unknown
	Waiting        int               `json:"waiting"`  // the engine's own; -1 unknown
	KVUsage        float64           `json:"kv_usage"` // 0..1; -1 unknown
	Ramp           float64           `json:"ramp"`     // 0..1 during slow start, else 1
}

// Worker is a replica to register.
type Worker struct {
	URL            string // as AddressPolicy.CheckURL returned it
	Weight         int    // 0: 1
	Ranks          int    // 0: 1
	MaxConcurrency int    // 0: no limit
	Models         []string
	Labels         map[string]string
}

// Change is what an update sets; nil leaves a value as it is.
type Change struct {
	Weight         *int
	Ranks          *int
	MaxConcurrency *int
	Models         *[]string
	Labels         *map[string]string
}
