package admin

import (
	"context"
	"net/http"
	"strconv"
	"sync"
)

// flushParallel is how many engines are told at once to flush.
const flushParallel = 16

// flushPaths is how each engine kind is told to forget its prefix cache.
var flushPaths = map[string]string{
	"sglang": "/flush_cache",
	"vllm":   "/reset_prefix_cache",
}

// flushReport is the answer to POST /flush_cache.
type flushReport struct {
	Status     string        `json:"status"` // success, or failed when any engine did not flush
	Total      int           `json:"total_workers"`
	Successful []string      `json:"successful"`
	Failed     []flushFailed `json:"failed"`
}

type flushFailed struct {
	Worker string `json:"worker"`
	Error  string `json:"error"`
}

func (a *WorkerAPI) flushCache(w http.ResponseWriter, r *http.Request) {
	report := a.flush(r.Context())
	status := http.StatusOK
	if len(report.Failed) > 0 {
		status = http.StatusBadGateway
	}
	writeJSON(w, status, report)
}

// flush tells every engine, at most flushParallel at once, and waits for all.
func (a *WorkerAPI) flush(ctx context.Context) flushReport {
	report := flushReport{Status: "success", Successful: []string{}, Failed: []flushFailed{}}
	var (
		calls sync.WaitGroup
		mu    sync.Mutex // guards report
		slots = make(chan struct{}, flushParallel)
	)
	for p, rep := range members(a.deps.Fleet.Snapshot()) {
		slots <- struct{}{}
		calls.Go(func() {
			defer func() { <-slots }()
			why := a.flushOne(ctx, p, rep)
			mu.Lock()
			defer mu.Unlock()
			if why == "" {
				report.Successful = append(report.Successful, rep.URL)
				return
			}
			report.Status = "failed"
			report.Failed = append(report.Failed, flushFailed{Worker: rep.URL, Error: why})
		})
	}
	calls.Wait()
	report.Total = len(report.Successful) + len(report.Failed)
	return report
}

// flushOne returns why the engine did not flush, "" if it did.
func (a *WorkerAPI) flushOne(ctx context.Context, p Pool, r Replica) string {
	path, ok := flushPaths[p.Engine]
	if !ok {
		return "engine kind " + strconv.Quote(p.Engine) + " has no way to flush its cache"
	}
	answer, err := a.deps.Engines.Call(ctx, p.Name, r.ID, http.MethodPost, path)
	switch {
	case err != nil:
		return err.Error()
	case answer.Status/100 != 2:
		return "the engine answered " + strconv.Itoa(answer.Status)
	}
	return ""
}

// workerLoad is one entry of GET /get_loads.
type workerLoad struct {
	Worker  string `json:"worker"`
	Load    int    `json:"load"`    // requests in flight from this gateway
	Tokens  int64  `json:"tokens"`  // leased and not settled
	Running int    `json:"running"` // the engine's own; -1 unknown
	Waiting int    `json:"waiting"` // the engine's own; -1 unknown
}

func (a *WorkerAPI) loads(w http.ResponseWriter, _ *http.Request) {
	list := []workerLoad{}
	for _, r := range members(a.deps.Fleet.Snapshot()) {
		list = append(list, workerLoad{Worker: r.URL, Load: r.InFlight, Tokens: r.Tokens, Running: r.Running, Waiting: r.Waiting})
	}
	writeJSON(w, http.StatusOK, map[string][]workerLoad{"workers": list})
}

func (a *WorkerAPI) liveness(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "OK")
}

// readinessReport is the answer to GET /readiness.
type readinessReport struct {
	Status  string `json:"status"` // "ready" or "not ready"
	Healthy int    `json:"healthy_workers"`
	Reason  string `json:"reason,omitempty"`
}

func (a *WorkerAPI) readiness(w http.ResponseWriter, _ *http.Request) {
	report := readinessReport{Status: "ready"}
	for _, r := range members(a.deps.Fleet.Snapshot()) {
		if r.Healthy {
			report.Healthy++
		}
	}
	ready, why := a.deps.Ready()
	if ready && report.Healthy > 0 {
		writeJSON(w, http.StatusOK, report)
		return
	}
	if ready {
		why = "no healthy workers available"
	}
	report.Status, report.Reason = "not ready", why
	writeJSON(w, http.StatusServiceUnavailable, report)
}

func (a *WorkerAPI) health(w http.ResponseWriter, _ *http.Request) {
	if ready, why := a.deps.Ready(); !ready {
		writeText(w, http.StatusServiceUnavailable, why)
		return
	}
	writeText(w, http.StatusOK, "OK")
}

// fromOneWorker passes the same path on to one worker, a healthy one if there
// is any, and its answer back.
func (a *WorkerAPI) fromOneWorker(w http.ResponseWriter, r *http.Request) {
	p, rep, ok := anyWorker(a.deps.Fleet.Snapshot(), r.URL.Query().Get("pool"))
	if !ok {
		writeError(w, &apiError{Status: http.StatusServiceUnavailable, Code: codeUnavailable, Message: "there is no worker to ask"})
		return
	}
	answer, err := a.deps.Engines.Call(r.Context(), p.Name, rep.ID, http.MethodGet, r.URL.Path)
	if err != nil {
		writeError(w, &apiError{Status: http.StatusBadGateway, Code: codeUpstream, Message: err.Error()})
		return
	}
	w.Header().Set("Content-Type", answer.ContentType)
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
}

func anyWorker(pools []Pool, pool string) (p Pool, r Replica, ok bool) {
	for in, rep := range members(pools) {
		if pool != "" && in.Name != pool {
			continue
		}
		if rep.Healthy {
			return in, rep, true
		}
		if !ok {
			p, r, ok = in, rep, true
		}
	}
	return p, r, ok
}
