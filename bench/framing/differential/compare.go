package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"penstock/bench/framing"
)

// verdict is what one proxy made of one case.
type verdict struct {
	outcome   framing.Outcome
	forwarded int    // complete requests that reached the backend
	malformed bool   // it got bytes that the strict reader refuses
	poisoned  string // what was wrong with the next client's answer
}

// accepted reports whether anything of the case got through.
func (v *verdict) accepted() bool { return v.forwarded > 0 || v.malformed }

// comparison holds the verdicts by proxy, in the order of the cases.
type comparison struct {
	cases    []framing.Case
	subjects []subject
	verdicts [][]verdict
}

// connectionLimit is how long a proxy may leave a connection as it is.
const connectionLimit = 3 * time.Second

// compare runs all proxies at once; each plays the corpus in order.
func compare(list []subject, cases []framing.Case) (*comparison, error) {
	root, err := os.MkdirTemp("", "framing")
	if err != nil {
		return nil, fmt.Errorf("cannot compare: %w", err)
	}
	defer os.RemoveAll(root)
	c := &comparison{cases: cases, subjects: list, verdicts: make([][]verdict, len(list))}
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() {
			dir := filepath.Join(root, strconv.Itoa(i))
			if errs[i] = os.Mkdir(dir, 0o755); errs[i] == nil {
				c.verdicts[i], errs[i] = playAll(&list[i], dir, cases)
			}
		})
	}
	wg.Wait()
	return c, errors.Join(errs...)
}

func playAll(s *subject, dir string, cases []framing.Case) ([]verdict, error) {
	backend, err := framing.StartBackend()
	if err != nil {
		return nil, err
	}
	defer backend.Close()
	target, stop, err := s.start(dir, backend.Addr())
	if err != nil {
		return nil, fmt.Errorf("cannot compare with %s: %w", s.name, err)
	}
	target.Limit = connectionLimit
	all := make([]verdict, len(cases))
	for i := range cases {
		if all[i], err = playOne(target, backend, &cases[i], i); err != nil {
			return nil, errors.Join(fmt.Errorf("case %q with %s: %w", cases[i].Name, s.name, err), stop())
		}
	}
	return all, stop()
}

// playOne sends a case and then an ordinary request, after whose answer the
// backend has what the case brought.
func playOne(target framing.Target, backend *framing.Backend, c *framing.Case, n int) (verdict, error) {
	out, err := target.Play(c, "")
	if err != nil {
		return verdict{}, err
	}
	v := verdict{outcome: *out}
	if err := target.Victim(fmt.Sprintf("victim-%d", n)); err != nil {
		v.poisoned = err.Error()
	}
	batch := backend.Take()
	v.malformed = batch.Malformed > 0
	for i := range batch.Requests {
		if batch.Requests[i].Target != framing.ProbeTarget {
			v.forwarded++
		}
	}
	return v, nil
}

// lenient lists the cases in which Penstock, the first proxy, lets something
// pass that the next two both refuse.
func (c *comparison) lenient() []string {
	var names []string
	for i := range c.cases {
		penstock, nginx, haproxy := &c.verdicts[0][i], &c.verdicts[1][i], &c.verdicts[2][i]
		if penstock.accepted() && !nginx.accepted() && !haproxy.accepted() {
			names = append(names, c.cases[i].Class+"/"+c.cases[i].Name)
		}
	}
	return names
}

// right reports whether a verdict is the one the case wants: the same number of
// requests at the backend, nothing in doubt, nobody else harmed.
func right(c *framing.Case, v *verdict) bool {
	return v.forwarded == len(c.Sees) && !v.malformed && v.poisoned == ""
}
