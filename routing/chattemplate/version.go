package chattemplate

import (
	"strconv"
	"strings"
)

// version is a release of an engine; the zero one is the newest.
type version [3]int

// parseVersion reads the first three numbers of a version such as 0.5.10.post1; what
// is no version is the zero one.
func parseVersion(text string) version {
	var v version
	for i, field := range strings.SplitN(text, ".", 4) {
		if i == len(v) {
			break
		}
		n, err := strconv.Atoi(field)
		if err != nil {
			return version{}
		}
		v[i] = n
	}
	return v
}

// before reports whether v is older than w.
func (v version) before(w version) bool {
	if v == (version{}) {
		return false
	}
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}
