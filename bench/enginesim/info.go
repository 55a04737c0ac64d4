package enginesim

import (
	"net/http"
	"time"

	"penstock/bench/enginesim/tokens"
)

func serveEmptyOK(x *exchange) error {
	x.w.Header().Set("Content-Length", "0")
	x.w.WriteHeader(http.StatusOK)
	return nil
}

func serveVersion(x *exchange) error {
	x.status(http.StatusOK, newObject(nil).str("version", x.s.cfg.Version).end())
	return nil
}

func serveLoad(x *exchange) error {
	// Without the request that asks.
	x.status(http.StatusOK, newObject(nil).int("server_load", int(x.s.health.Load()-1)).end())
	return nil
}

func serveModels(x *exchange) error {
	s := x.s
	created := s.ranks[0].epoch.Unix()
	card := func(b []byte, id, root, parent string) []byte {
		o := newObject(b).str("id", id).str("object", "model").int("created", int(created))
		switch s.cfg.Dialect {
		case TRTLLM:
			return o.str("owned_by", "tensorrt_llm").end()
		case SGLang:
			return o.str("owned_by", "sglang").str("root", root).nullable("parent", parent).
				int("max_model_len", s.cfg.Engine.MaxModelLen).end()
		case VLLM:
		}
		o.str("owned_by", "vllm").str("root", root).nullable("parent", parent)
		if parent == "" {
			o.int("max_model_len", s.cfg.Engine.MaxModelLen)
		} else {
			o.nulls("max_model_len")
		}
		return o.nested("permission", func(b []byte) []byte {
			b = newObject(append(b, '[')).str("id", "modelperm-"+s.newID()).str("object", "model_permission").
				int("created", int(created)).raw("allow_create_engine", "false").raw("allow_sampling", "true").
				raw("allow_logprobs", "true").raw("allow_search_indices", "false").raw("allow_view", "true").
				raw("allow_fine_tuning", "false").str("organization", "*").nulls("group").raw("is_blocking", "false").end()
			return append(b, ']')
		}).end()
	}
	o := newObject(nil).str("object", "list").nested("data", func(b []byte) []byte {
		b = card(append(b, '['), s.cfg.Model, s.cfg.Model, "")
		if s.cfg.Dialect != TRTLLM {
			for _, a := range s.cfg.Adapters {
				b = card(append(b, ','), a, a, s.cfg.Model)
			}
		}
		return append(b, ']')
	})
	x.status(http.StatusOK, o.end())
	return nil
}

// serveResetCache is vLLM's development route.
func serveResetCache(x *exchange) error {
	ok := "true"
	for _, r := range x.s.ranks {
		if !r.clearCache() {
			ok = "false"
		}
	}
	x.status(http.StatusOK, []byte(`{"success":`+ok+`}`))
	return nil
}

func serveFlushCache(x *exchange) error {
	code, text := http.StatusOK, "Cache flushed.\nPlease check backend logs for more details. "+
		"(When there are running or waiting requests, the operation will not be performed.)\n"
	for _, r := range x.s.ranks {
		if !r.clearCache() {
			code, text = http.StatusBadRequest, "Cache not flushed: requests are running or waiting.\n"
		}
	}
	x.respond(code, "text/plain; charset=utf-8", []byte(text))
	return nil
}

// serveHealthGenerate generates one token and answers no sooner than the poll
// that would see it.
func serveHealthGenerate(x *exchange) error {
	x.info = RequestInfo{ID: "HEALTH_CHECK_" + x.s.newID(), Path: x.r.URL.Path, Received: x.s.cfg.Now()}
	one := 1
	timer := time.NewTimer(x.s.cfg.HealthDelay)
	defer timer.Stop()
	err := x.submit(&apiRequest{MaxTokens: &one}, [][]uint32{{tokens.EOS}})
	if err != nil {
		return err
	}
	if _, _, err := x.collect(); err != nil {
		return err
	}
	select {
	case <-timer.C:
	case <-x.left:
		return errEnded
	case <-x.s.closing:
		return errEnded
	}
	return serveEmptyOK(x)
}

func serveModelInfo(x *exchange) error {
	x.status(http.StatusOK, newObject(nil).str("model_path", x.s.cfg.Model).str("served_model_name", x.s.cfg.Model).
		str("tokenizer_path", x.s.cfg.Model).raw("is_generation", "true").nulls("preferred_sampling_params").
		str("weight_version", "default").raw("has_image_understanding", "false").raw("has_audio_understanding", "false").
		nulls("model_type", "architectures").end())
	return nil
}

func serveServerInfo(x *exchange) error {
	cfg := &x.s.cfg
	o := newObject(nil).str("model_path", cfg.Model).str("served_model_name", cfg.Model).
		int("page_size", cfg.Engine.BlockSize).int("dp_size", cfg.Ranks).
		int("context_length", cfg.Engine.MaxModelLen).int("chunked_prefill_size", cfg.Engine.MaxTokens).
		int("max_running_requests", cfg.Engine.MaxSeqs).str("disaggregation_mode", "null").
		int("max_total_num_tokens", cfg.Engine.Blocks*cfg.Engine.BlockSize).
		nulls("kv_events").raw("internal_states", "[{}]").str("version", cfg.Version)
	x.status(http.StatusOK, o.end())
	return nil
}

func serveTRTServerInfo(x *exchange) error {
	x.status(http.StatusOK, newObject(nil).str("kv_cache_hash_algo", "v1_block_key").nulls("disaggregated_params").end())
	return nil
}
