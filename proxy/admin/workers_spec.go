package admin

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// workerSpec is a worker as the router family's clients describe it.
type workerSpec struct {
	URL            *string            `json:"url"`
	Type           string             `json:"worker_type"`
	ModelID        string             `json:"model_id"`
	Models         *[]modelName       `json:"models"`
	Labels         *map[string]string `json:"labels"`
	APIKey         string             `json:"api_key"`
	ConnectionMode json.RawMessage    `json:"connection_mode"`
	Ranks          *int               `json:"dp_size"`

	// Of our own.
	Pool           string `json:"pool"`
	Weight         *int   `json:"weight"`
	MaxConcurrency *int   `json:"max_concurrency"`

	ignored []string // members that have no effect here, told to the caller
}

// known are the members that have an effect.
var known = []string{
	"url", "worker_type", "model_id", "models", "labels", "api_key", "connection_mode",
	"dp_size", "pool", "weight", "max_concurrency",
}

// modelName is a model given as a name or as an object with an id.
type modelName string

// UnmarshalJSON reads either form.
func (m *modelName) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var card struct {
			ID string `json:"id"`
		}
		err := json.Unmarshal(b, &card)
		*m = modelName(card.ID)
		return err
	}
	return json.Unmarshal(b, (*string)(m))
}

// parseSpec reads a worker. Unknown members are allowed, since the family's
// versions differ, but collected; what would change the meaning is refused.
func parseSpec(body []byte) (*workerSpec, *apiError) {
	s := &workerSpec{}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, s); err != nil {
		return nil, badRequest("the body is not a worker in JSON: " + err.Error())
	}
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return nil, badRequest("the body is not a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, strings.ToLower(name)) {
			s.ignored = append(s.ignored, name)
		}
	}
	if e := s.refusal(); e != nil {
		return nil, e
	}
	return s, nil
}

// refusal is why the worker cannot be served as described.
func (s *workerSpec) refusal() *apiError {
	switch {
	case s.Type != "" && s.Type != "regular":
		return badRequest("cannot register a worker of this type: only regular workers are served")
	case s.APIKey != "":
		return badRequest("cannot use a key per worker: set the pool's secret")
	case bytes.Contains(s.ConnectionMode, []byte("grpc")):
		return badRequest("cannot reach a worker by gRPC: only HTTP is spoken")
	case s.Weight != nil && (*s.Weight < 1 || *s.Weight > 1000):
		return badRequest("weight must be between 1 and 1000")
	case s.Ranks != nil && *s.Ranks < 1:
		return badRequest("dp_size must be at least 1")
	case s.MaxConcurrency != nil && *s.MaxConcurrency < 0:
		return badRequest("max_concurrency must not be negative")
	}
	return nil
}

// models returns the names given, and whether any way of giving them was used.
func (s *workerSpec) models() (names []string, given bool) {
	if s.Models != nil {
		for _, m := range *s.Models {
			names = append(names, string(m))
		}
		return names, true
	}
	// "unknown" is what the family's tools send when they do not know.
	if s.ModelID != "" && s.ModelID != "unknown" {
		return []string{s.ModelID}, true
	}
	return nil, false
}

// worker returns what to register; url has been checked.
func (s *workerSpec) worker(url string) Worker {
	w := Worker{URL: url, Weight: 1, Ranks: 1}
	w.Models, _ = s.models()
	if s.Weight != nil {
		w.Weight = *s.Weight
	}
	if s.Ranks != nil {
		w.Ranks = *s.Ranks
	}
	if s.MaxConcurrency != nil {
		w.MaxConcurrency = *s.MaxConcurrency
	}
	if s.Labels != nil {
		w.Labels = *s.Labels
	}
	return w
}

// change returns what a PATCH sets.
func (s *workerSpec) change() Change {
	c := Change{Weight: s.Weight, Ranks: s.Ranks, MaxConcurrency: s.MaxConcurrency, Labels: s.Labels}
	if names, given := s.models(); given {
		c.Models = &names
	}
	return c
}

// whole returns what a PUT sets: everything, absent members to their default.
func (s *workerSpec) whole() Change {
	w := s.worker("")
	return Change{Weight: &w.Weight, Ranks: &w.Ranks, MaxConcurrency: &w.MaxConcurrency, Models: &w.Models, Labels: &w.Labels}
}
