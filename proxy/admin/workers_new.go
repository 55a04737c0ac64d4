package admin

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// workerInfo is a worker as the family's clients read it.
type workerInfo struct {
	ID             string            `json:"id"`
	URL            string            `json:"url"`
	Pool           string            `json:"pool"`
	ModelID        string            `json:"model_id"`
	Models         []string          `json:"models"`
	WorkerType     string            `json:"worker_type"`
	ConnectionMode string            `json:"connection_mode"`
	RuntimeType    string            `json:"runtime_type"`
	Healthy        bool              `json:"is_healthy"`
	Status         string            `json:"status"`
	Load           int               `json:"load"` // requests in flight from this gateway
	Weight         int               `json:"weight"`
	Labels         map[string]string `json:"labels,omitempty"`
}

func describe(p Pool, r Replica) workerInfo {
	models := r.Models
	if len(models) == 0 {
		models = p.Models
	}
	info := workerInfo{
		ID: r.ID, URL: r.URL, Pool: p.Name, ModelID: "unknown", Models: []string{},
		WorkerType: "regular", ConnectionMode: "http", RuntimeType: p.Engine,
		Healthy: r.Healthy, Status: r.State, Load: r.InFlight, Weight: r.Weight, Labels: r.Labels,
	}
	if len(models) > 0 {
		info.ModelID, info.Models = models[0], models
	}
	return info
}

// workerList is the answer to GET /workers.
type workerList struct {
	Workers []workerInfo `json:"workers"`
	Total   int          `json:"total"`
	Stats   workerStats  `json:"stats"`
}

type workerStats struct {
	ByType  map[string]int `json:"by_type"`
	Healthy int            `json:"healthy"`
	Load    int            `json:"load"`
}

func (a *WorkerAPI) list(w http.ResponseWriter, r *http.Request) {
	model := r.URL.Query().Get("model")
	out := workerList{Workers: []workerInfo{}, Stats: workerStats{ByType: map[string]int{"regular": 0, "prefill": 0, "decode": 0}}}
	for p, rep := range members(a.deps.Fleet.Snapshot()) {
		info := describe(p, rep)
		if model != "" && !slices.Contains(info.Models, model) {
			continue
		}
		out.Workers = append(out.Workers, info)
		out.Stats.ByType[info.WorkerType]++
		out.Stats.Load += info.Load
		if info.Healthy {
			out.Stats.Healthy++
		}
	}
	out.Total = len(out.Workers)
	writeJSON(w, http.StatusOK, out)
}

// accepted is the answer to a change. Changes are made before it is sent; the
// family's tools expect the 202 of a queued job.
type accepted struct {
	Status   string   `json:"status"`
	JobID    string   `json:"job_id"`
	WorkerID string   `json:"worker_id"`
	URL      string   `json:"url"`
	Location string   `json:"location"`
	Message  string   `json:"message"`
	Ignored  []string `json:"ignored,omitempty"` // members of the request that have no effect
}

func (a *WorkerAPI) accept(w http.ResponseWriter, id, workerURL, message string, ignored []string) {
	location := workersPrefix + url.PathEscape(id)
	w.Header().Set("Location", location)
	writeJSON(w, http.StatusAccepted, accepted{
		Status: "accepted", JobID: "job-" + strconv.FormatInt(a.jobs.Add(1), 10),
		WorkerID: id, URL: workerURL, Location: location, Message: message, Ignored: ignored,
	})
}

func (a *WorkerAPI) add(w http.ResponseWriter, r *http.Request) {
	spec, e := readSpec(r)
	if e == nil && spec.URL == nil {
		e = badRequest("url is missing")
	}
	if e != nil {
		writeError(w, e)
		return
	}
	id, workerURL, e := a.register(r.Context(), *spec.URL, spec)
	if e != nil {
		writeError(w, e)
		return
	}
	a.accept(w, id, workerURL, "the worker takes requests once its probe succeeds", spec.ignored)
}

// register checks a worker's address and adds it to its pool.
func (a *WorkerAPI) register(ctx context.Context, raw string, spec *workerSpec) (id, workerURL string, e *apiError) {
	bounded, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	checked, err := a.deps.Addresses.CheckURL(bounded, raw, a.deps.Resolver)
	if err != nil {
		a.deps.Log.Warn("worker refused", slog.Any("cause", err))
		return "", "", badRequest(err.Error())
	}
	models, _ := spec.models()
	pool, e := choosePool(a.deps.Fleet.Snapshot(), spec.Pool, models)
	if e != nil {
		return "", "", e
	}
	if slices.ContainsFunc(pool.Replicas, func(r Replica) bool { return sameURL(r.URL, checked.URL) }) {
		return "", "", fleetError(ErrExists)
	}
	id, err = a.deps.Fleet.Add(ctx, pool.Name, spec.worker(checked.URL))
	if err != nil {
		return "", "", fleetError(err)
	}
	a.deps.Log.Info("worker registered", slog.String("pool", pool.Name), slog.String("replica", id), slog.String("url", checked.URL))
	return id, checked.URL, nil
}

func (a *WorkerAPI) show(w http.ResponseWriter, r *http.Request) {
	p, rep, e := a.target(r)
	if e != nil {
		writeError(w, e)
		return
	}
	writeJSON(w, http.StatusOK, describe(p, rep))
}

func (a *WorkerAPI) replace(w http.ResponseWriter, r *http.Request) {
	a.update(w, r, (*workerSpec).whole)
}

func (a *WorkerAPI) patch(w http.ResponseWriter, r *http.Request) {
	a.update(w, r, (*workerSpec).change)
}

func (a *WorkerAPI) update(w http.ResponseWriter, r *http.Request, changeOf func(*workerSpec) Change) {
	p, rep, e := a.target(r)
	if e != nil {
		writeError(w, e)
		return
	}
	spec, e := readSpec(r)
	if e == nil && spec.URL != nil && !sameURL(*spec.URL, rep.URL) {
		e = badRequest("the URL of a worker cannot change: remove it and add another")
	}
	if e == nil && spec.Pool != "" && spec.Pool != p.Name {
		e = badRequest("the pool of a worker cannot change: remove it and add it again")
	}
	if e != nil {
		writeError(w, e)
		return
	}
	if err := a.deps.Fleet.Update(r.Context(), p.Name, rep.ID, changeOf(spec)); err != nil {
		writeError(w, fleetError(err))
		return
	}
	a.deps.Log.Info("worker updated", slog.String("pool", p.Name), slog.String("replica", rep.ID))
	a.accept(w, rep.ID, rep.URL, "the worker was updated", spec.ignored)
}

func (a *WorkerAPI) remove(w http.ResponseWriter, r *http.Request) {
	p, rep, e := a.target(r)
	if e == nil {
		e = a.unregister(r.Context(), p, rep)
	}
	if e != nil {
		writeError(w, e)
		return
	}
	a.accept(w, rep.ID, rep.URL, "the worker gets no new requests; running ones finish", nil)
}

func (a *WorkerAPI) unregister(ctx context.Context, p Pool, rep Replica) *apiError {
	if err := a.deps.Fleet.Remove(ctx, p.Name, rep.ID); err != nil {
		return fleetError(err)
	}
	a.deps.Log.Info("worker removed", slog.String("pool", p.Name), slog.String("replica", rep.ID))
	return nil
}

func readSpec(r *http.Request) (*workerSpec, *apiError) {
	body, e := readBody(r)
	if e != nil {
		return nil, e
	}
	return parseSpec(body)
}
