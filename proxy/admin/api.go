package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"penstock/configs"
)

// maxBody is the longest request body that is read, in bytes.
const maxBody = 64 << 10

func (s *Server) pools(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string][]Pool{"pools": s.deps.Fleet.Snapshot()})
}

// poolReplica is a replica with the name of its pool.
type poolReplica struct {
	Pool string `json:"pool"`
	Replica
}

func (s *Server) replicas(w http.ResponseWriter, _ *http.Request) {
	list := []poolReplica{}
	for p, r := range members(s.deps.Fleet.Snapshot()) {
		list = append(list, poolReplica{Pool: p.Name, Replica: r})
	}
	writeJSON(w, http.StatusOK, map[string][]poolReplica{"replicas": list})
}

// replicaRef names one replica; pool may be left out when the id is unique.
type replicaRef struct {
	Pool string `json:"pool"`
	ID   string `json:"id"`
}

func (s *Server) drain(w http.ResponseWriter, r *http.Request) {
	s.onReplica(w, r, "draining", s.deps.Fleet.Drain)
}

func (s *Server) undrain(w http.ResponseWriter, r *http.Request) {
	s.onReplica(w, r, "undrained", s.deps.Fleet.Undrain)
}

func (s *Server) onReplica(w http.ResponseWriter, r *http.Request, done string, f func(pool, id string) error) {
	var ref replicaRef
	if e := readStrict(r, &ref); e != nil {
		writeError(w, e)
		return
	}
	p, rep, e := find(s.deps.Fleet.Snapshot(), ref.Pool, ref.ID)
	if e != nil {
		writeError(w, e)
		return
	}
	if err := f(p.Name, rep.ID); err != nil {
		writeError(w, fleetError(err))
		return
	}
	s.deps.Log.Info("replica changed by the admin API", slog.String("change", done), slog.String("pool", p.Name), slog.String("replica", rep.ID))
	writeJSON(w, http.StatusOK, map[string]string{"status": done, "pool": p.Name, "id": rep.ID})
}

func (s *Server) effective(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(s.deps.Effective())
}

// reloadFailure is the answer to a reload that changed nothing.
type reloadFailure struct {
	Error    *apiError         `json:"error"`
	Problems []configs.Problem `json:"problems"`
}

func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	err := s.deps.Reload(r.Context())
	if err == nil {
		writeJSON(w, http.StatusOK, map[string]string{"status": "reloaded"})
		return
	}
	writeJSON(w, http.StatusUnprocessableEntity, reloadFailure{
		Error:    &apiError{Code: codeBadConfig, Message: "the configuration was not changed"},
		Problems: problems(err),
	})
}

// problems lists everything in err, one by one.
func problems(err error) []configs.Problem {
	if listed, ok := errors.AsType[*configs.Errors](err); ok {
		return listed.Problems
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []configs.Problem
		for _, e := range joined.Unwrap() {
			list = append(list, problems(e)...)
		}
		return list
	}
	return []configs.Problem{{Message: err.Error()}}
}

func (s *Server) logLevel(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"level": levelName(s.deps.LogLevel.Level())})
}

func (s *Server) setLogLevel(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Level string `json:"level"`
	}
	if e := readStrict(r, &body); e != nil {
		writeError(w, e)
		return
	}
	level, ok := levels[configs.LogLevel(body.Level)]
	if !ok {
		writeError(w, badRequest("level must be debug, info, warn or error"))
		return
	}
	s.deps.LogLevel.Set(level)
	s.deps.Log.Warn("log level changed by the admin API", slog.String("level", body.Level))
	writeJSON(w, http.StatusOK, map[string]string{"level": body.Level})
}

var levels = map[configs.LogLevel]slog.Level{
	configs.LogDebug: slog.LevelDebug,
	configs.LogInfo:  slog.LevelInfo,
	configs.LogWarn:  slog.LevelWarn,
	configs.LogError: slog.LevelError,
}

func levelName(level slog.Level) string {
	for name, l := range levels {
		if l == level {
			return string(name)
		}
	}
	return level.String()
}

// readStrict reads a JSON body into v and refuses unknown members: a typo in an
// operator's request must not pass as a default.
func readStrict(r *http.Request, v any) *apiError {
	body, e := readBody(r)
	if e != nil {
		return e
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return badRequest("the body is not the JSON expected: " + err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("the body has something after its JSON value")
	}
	return nil
}

// fleetError turns an error of a Fleet into an answer.
func fleetError(err error) *apiError {
	switch {
	case errors.Is(err, ErrNoPool), errors.Is(err, ErrNoReplica):
		return notFound(err.Error())
	case errors.Is(err, ErrExists):
		return &apiError{Status: http.StatusConflict, Code: codeConflict, Message: err.Error()}
	default:
		return &apiError{Status: http.StatusInternalServerError, Code: codeInternal, Message: err.Error()}
	}
}
