package admin

import (
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
)

// readBody reads a bounded request body.
func readBody(r *http.Request) ([]byte, *apiError) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, badRequest("the body did not arrive whole")
	case len(body) > maxBody:
		return nil, &apiError{Status: http.StatusRequestEntityTooLarge, Code: codeBadRequest, Message: "the body is larger than 64 KiB"}
	}
	return body, nil
}

// members ranges over all replicas with their pools, in order.
func members(pools []Pool) iter.Seq2[Pool, Replica] {
	return func(yield func(Pool, Replica) bool) {
		for _, p := range pools {
			for _, r := range p.Replicas {
				if !yield(p, r) {
					return
				}
			}
		}
	}
}

// find looks a replica up by id or URL, in one pool or, with pool "", in all.
func find(pools []Pool, pool, name string) (Pool, Replica, *apiError) {
	if name == "" {
		return Pool{}, Replica{}, badRequest("the replica's id is missing")
	}
	var in []Pool
	var found []Replica
	known := pool == ""
	for _, p := range pools {
		if pool != "" && p.Name != pool {
			continue
		}
		known = true
		i := slices.IndexFunc(p.Replicas, func(r Replica) bool { return r.ID == name || sameURL(r.URL, name) })
		if i >= 0 {
			in, found = append(in, p), append(found, p.Replicas[i])
		}
	}
	switch {
	case !known:
		return Pool{}, Replica{}, notFound("there is no pool of that name")
	case len(found) == 0:
		return Pool{}, Replica{}, notFound("there is no replica of that name")
	case len(found) > 1:
		return Pool{}, Replica{}, &apiError{Status: http.StatusConflict, Code: codeConflict, Message: "more than one pool has a replica of that name: say which with pool"}
	}
	return in[0], found[0], nil
}

// sameURL compares two worker URLs in their canonical form.
func sameURL(a, b string) bool {
	if a == b {
		return true
	}
	ua, errA := parseWorkerURL(a)
	ub, errB := parseWorkerURL(b)
	return errA == nil && errB == nil && ua.String() == ub.String()
}

// choosePool says which pool a new worker joins: the one named; else the one
// that serves one of its models; else the default or only one.
func choosePool(pools []Pool, name string, models []string) (Pool, *apiError) {
	if name != "" {
		if i := slices.IndexFunc(pools, func(p Pool) bool { return p.Name == name }); i >= 0 {
			return pools[i], nil
		}
		return Pool{}, notFound("there is no pool of that name")
	}
	for _, p := range pools {
		if slices.ContainsFunc(models, func(m string) bool { return slices.Contains(p.Models, m) }) {
			return p, nil
		}
	}
	if i := slices.IndexFunc(pools, func(p Pool) bool { return p.Default || len(pools) == 1 }); i >= 0 {
		return pools[i], nil
	}
	names := make([]string, 0, len(pools))
	for _, p := range pools {
		names = append(names, p.Name)
	}
	return Pool{}, badRequest("say which pool: " + strings.Join(names, ", "))
}
