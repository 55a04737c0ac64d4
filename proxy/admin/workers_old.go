package admin

import "net/http"

func (a *WorkerAPI) addOld(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	_, workerURL, e := a.register(r.Context(), q.Get("url"), &workerSpec{Pool: q.Get("pool")})
	if e != nil {
		writeError(w, e)
		return
	}
	writeText(w, http.StatusOK, "Added worker: "+workerURL+"\n")
}

func (a *WorkerAPI) removeOld(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p, rep, e := find(a.deps.Fleet.Snapshot(), q.Get("pool"), q.Get("url"))
	if e == nil {
		e = a.unregister(r.Context(), p, rep)
	}
	if e != nil {
		writeError(w, e)
		return
	}
	writeText(w, http.StatusOK, "Removed worker: "+rep.URL+"\n")
}

func (a *WorkerAPI) listOld(w http.ResponseWriter, _ *http.Request) {
	urls := []string{}
	for _, r := range members(a.deps.Fleet.Snapshot()) {
		urls = append(urls, r.URL)
	}
	writeJSON(w, http.StatusOK, map[string][]string{"urls": urls})
}
