package load

import (
	"encoding/json"
	"errors"
	"fmt"
)

// errNothing is an answer without any of the values looked for.
var errNothing = errors.New("load: the answer has none of the known series")

// scanSGLang reads /v1/loads: one entry per data-parallel rank.
func scanSGLang(body []byte) (sums, error) {
	var answer struct {
		Loads []struct {
			Running *float64 `json:"num_running_reqs"`
			Waiting *float64 `json:"num_waiting_reqs"`
			Usage   *float64 `json:"token_usage"`
		} `json:"loads"`
	}
	var s sums
	if err := json.Unmarshal(body, &answer); err != nil {
		return s, fmt.Errorf("cannot read loads: %w", err)
	}
	for _, l := range answer.Loads {
		for g, v := range map[gauge]*float64{gaugeRunning: l.Running, gaugeWaiting: l.Waiting, gaugeUsage: l.Usage} {
			if v != nil {
				s.add(g, *v)
			}
		}
	}
	return s, nil
}

// scanIterations reads TensorRT-LLM's /metrics: the iterations since the last
// reading, of which the newest counts. none says that there were none, as when
// the engine is idle.
func scanIterations(body []byte) (s sums, none bool, err error) {
	var iterations []struct {
		Active *float64 `json:"numActiveRequests"`
		Queued *float64 `json:"numQueuedRequests"`
		KV     *struct {
			Used float64 `json:"usedNumBlocks"`
			Max  float64 `json:"maxNumBlocks"`
		} `json:"kvCacheStats"`
	}
	if err := json.Unmarshal(body, &iterations); err != nil {
		return s, false, fmt.Errorf("cannot read iterations: %w", err)
	}
	if len(iterations) == 0 {
		return s, true, nil
	}
	last := iterations[len(iterations)-1]
	if last.Active != nil {
		s.add(gaugeRunning, *last.Active)
	}
	if last.Queued != nil {
		s.add(gaugeWaiting, *last.Queued)
	}
	if last.KV != nil && last.KV.Max > 0 {
		s.add(gaugeUsage, last.KV.Used/last.KV.Max)
	}
	return s, false, nil
}
