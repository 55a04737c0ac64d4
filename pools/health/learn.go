package health

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock/configs"
	"penstock/pools"
	"penstock/pools/engine"
)

const modelsPath = "/v1/models"

// What is believed of a list of models: an engine's answer is not trusted to be
// of reasonable size.
const (
	maxModels    = 1000
	maxModelName = 512
)

// listing is the part of /v1/models that is used.
type listing struct {
	Data []struct {
		ID          string `json:"id"`
		OwnedBy     string `json:"owned_by"`
		MaxModelLen int    `json:"max_model_len"`
	} `json:"data"`
}

// parseModels reads the answer of /v1/models.
func parseModels(body []byte) (names []string, owner string, maxLen int, err error) {
	var l listing
	if err := json.Unmarshal(body, &l); err != nil {
		return nil, "", 0, fmt.Errorf("cannot read the list of models: %w", err)
	}
	for _, m := range l.Data {
		if m.ID == "" || len(m.ID) > maxModelName || len(names) == maxModels {
			continue
		}
		names = append(names, m.ID)
		if owner == "" {
			owner = m.OwnedBy
		}
		maxLen = max(maxLen, m.MaxModelLen)
	}
	return names, owner, maxLen, nil
}

// learn finds out what the engine is and which models it has, and reports it.
// It reports whether that was possible.
func (w *watcher) learn(ctx context.Context, cfg *configs.Pool, r pools.Replica) bool {
	var names []string
	var owner string
	var maxLen int
	a, err := w.client.Get(ctx, r, cfg.Secret, modelsPath)
	if err != nil {
		return false
	}
	if a.OK() {
		if names, owner, maxLen, err = parseModels(a.Body); err != nil {
			return false
		}
		w.set.ReportModels(w.id, w.epoch, names)
	}
	kind := cfg.Engine
	if kind == "" || kind == configs.EngineAuto {
		if kind, err = w.detect(ctx, cfg, r, owner); err != nil {
			return false
		}
	}
	w.set.ReportEngine(w.id, w.epoch, kind, maxLen)
	return true
}

// detect tells the engine by what it writes into its list of models, and by
// routes that only it has when that says nothing or is guarded by a key. The
// list comes first because TensorRT-LLM has /version and /server_info too.
func (w *watcher) detect(ctx context.Context, cfg *configs.Pool, r pools.Replica, owner string) (configs.Engine, error) {
	switch owner {
	case "vllm":
		return configs.EngineVLLM, nil
	case "sglang":
		return configs.EngineSGLang, nil
	case "tensorrt_llm":
		return configs.EngineTRTLLM, nil
	}
	routes := []struct {
		path, field string
		kind        configs.Engine
	}{
		{"/server_info", "internal_states", configs.EngineSGLang},
		{"/get_server_info", "internal_states", configs.EngineSGLang},
		{"/server_info", "kv_cache_hash_algo", configs.EngineTRTLLM},
		{"/version", "version", configs.EngineVLLM},
	}
	answers := map[string]engine.Answer{}
	for _, route := range routes {
		a, asked := answers[route.path]
		if !asked {
			var err error
			if a, err = w.client.Get(ctx, r, cfg.Secret, route.path); err != nil {
				return "", err
			}
			answers[route.path] = a
		}
		var fields map[string]json.RawMessage
		if a.OK() && json.Unmarshal(a.Body, &fields) == nil && fields[route.field] != nil {
			return route.kind, nil
		}
	}
	return configs.EngineOpenAI, nil
}
