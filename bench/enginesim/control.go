package enginesim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// serveControl answers the simulator's own routes under /sim/, which exist in
// every dialect and to which no fault applies.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) bool {
	reply := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write(append(mustJSON(v), '\n'))
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /sim/state":
		reply(http.StatusOK, s.Stats())
	case "GET /sim/faults":
		reply(http.StatusOK, s.faults.get())
	case "DELETE /sim/faults":
		s.SetFault(Fault{})
		reply(http.StatusOK, Fault{})
	case "POST /sim/faults":
		var f Fault
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
		if err == nil {
			err = json.Unmarshal(body, &f)
		}
		if err != nil {
			reply(http.StatusBadRequest, map[string]string{"detail": fmt.Sprintf("cannot read fault: %v", err)})
			return true
		}
		s.SetFault(f)
		reply(http.StatusOK, f)
	case "POST /sim/drain":
		s.SetDraining(r.URL.Query().Get("on") != "false")
		reply(http.StatusOK, map[string]bool{"draining": r.URL.Query().Get("on") != "false"})
	default:
		return false
	}
	return true
}
