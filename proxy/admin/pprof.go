package admin

import (
	"net/http"
	"net/http/pprof" // registers on http.DefaultServeMux too, which nothing here serves
	"strings"
)

// profiles are the named profiles of runtime/pprof that are served.
var profiles = []string{"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"}

// addPprof adds the profiles. The command line is left out: flags such as
// --api-key may stand in it.
func addPprof(paths map[string]methods) {
	const base = "/debug/pprof/"
	paths[base] = methods{http.MethodGet: pprofIndex}
	paths[base+"profile"] = methods{http.MethodGet: pprof.Profile}
	paths[base+"trace"] = methods{http.MethodGet: pprof.Trace}
	paths[base+"symbol"] = methods{http.MethodGet: pprof.Symbol, http.MethodPost: pprof.Symbol}
	for _, name := range profiles {
		paths[base+name] = methods{http.MethodGet: pprof.Handler(name).ServeHTTP}
	}
}

// pprofIndex lists what there is, one name per line.
func pprofIndex(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "profile\ntrace\nsymbol\n"+strings.Join(profiles, "\n")+"\n")
}
