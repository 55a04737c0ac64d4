package enginesim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzRequestBody checks that no body brings a server down or leaves anything
// in its engine, and that every JSON answer is JSON.
func FuzzRequestBody(f *testing.F) {
	paths := []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/embeddings", "/v1/score", "/v1/rerank", "/tokenize", "/inference/v1/generate", "/generate"}
	f.Add(uint8(0), chat)
	f.Add(uint8(1), `{"prompt":[[1],"a",[2,3]],"n":2,"stop":["e"],"stream":true}`)
	f.Add(uint8(2), `{"input":[{"role":"user","content":null}],"stream":true}`)
	f.Add(uint8(3), `{"max_tokens":1,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]}`)
	f.Add(uint8(9), `{"text":["a","b"],"sampling_params":{"max_new_tokens":2}}`)
	servers := []*Server{}
	for _, d := range []Dialect{VLLM, SGLang, TRTLLM} {
		cfg := instant(d)
		cfg.Engine.MaxModelLen, cfg.Engine.Blocks = 256, 64
		s, err := New(cfg)
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = s.Close() })
		servers = append(servers, s)
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		for _, s := range servers {
			r := httptest.NewRequest(http.MethodPost, paths[int(which)%len(paths)], strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code < 200 || w.Code >= 500 && w.Code != 503 {
				t.Errorf("%s: status %d for %q: %s", s.cfg.Dialect, w.Code, body, w.Body)
			}
			if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %q answered with %s", s.cfg.Dialect, body, w.Body)
			}
		}
	})
}
