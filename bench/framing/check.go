package framing

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Check compares what a proxy did with what a case wants and returns every
// difference. records are those of the backend without probes on connections
// of their own; nothing else may have used the proxy.
func Check(c *Case, out *Outcome, records []Record) []string {
	var wrong []string
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	checkAnswers(c, out, fault)
	var seen []Seen
	var requests []Request
	for i := range records {
		if err := records[i].Err; err != nil {
			fault("the backend got bytes that two servers could read differently: %v", err)
		}
		for _, q := range records[i].Requests {
			if q.Target == ProbeTarget {
				continue
			}
			requests = append(requests, q)
			seen = append(seen, Seen{Method: q.Method, Target: q.Target, Body: q.Body})
		}
		for _, text := range c.Lacks {
			if records[i].Contains(text) {
				fault("the backend got %q", text)
			}
		}
	}
	if !slices.Equal(seen, c.Sees) {
		fault("the backend got %.300q, want %.300q", seen, c.Sees)
		return wrong
	}
	checkFields(c, requests, fault)
	return wrong
}

func checkAnswers(c *Case, out *Outcome, fault func(string, ...any)) {
	if len(out.Answers) == 0 && c.MayEndSilently() && !out.TimedOut {
		return
	}
	if len(out.Answers) != len(c.Want) {
		fault("answers: %s, want %v", out, c.Want)
		return
	}
	for i, statuses := range c.Want {
		if !slices.Contains(statuses, out.Answers[i].Status) {
			fault("answer %d is %d, want one of %v", i, out.Answers[i].Status, statuses)
		}
	}
	if c.Ends() && !c.Fin && !out.Closed {
		fault("the connection was not closed after the refusal")
	}
}

// checkFields checks the named fields of the first request and that no marked
// value moved.
func checkFields(c *Case, requests []Request, fault func(string, ...any)) {
	origin := markers(c.Raw())
	for i := range requests {
		q := &requests[i]
		for _, name := range c.Drops {
			if len(q.Values(name)) > 0 {
				fault("field %q reached the backend: %q", name, q.Values(name))
			}
		}
		for _, f := range q.Fields {
			for _, mark := range marker.FindAllString(strings.ToLower(f.Name+" "+f.Value), -1) {
				if !strings.EqualFold(origin[mark], f.Name) {
					fault("%q, sent in %q, reached the backend in %q", mark, origin[mark], f.Name)
				}
			}
		}
	}
	for _, want := range c.Passes {
		if len(requests) == 0 || !slices.Contains(requests[0].Values(want.Name), want.Value) {
			fault("field %q did not reach the backend as %q", want.Name, want.Value)
		}
	}
}

// marker is how cases mark the values whose way is followed.
var marker = regexp.MustCompile(`canary-[a-z0-9-]+`)

// markers says for each marked value in which field the client sent it; "" for
// one that was not in a proper field of a head.
func markers(raw string) map[string]string {
	origin := map[string]string{}
	head := true
	for line := range strings.SplitSeq(strings.ToLower(raw), "\r\n") {
		name, _, found := strings.Cut(line, ":")
		if !head || !found || !token(name) {
			name = ""
		}
		for _, mark := range marker.FindAllString(line, -1) {
			if _, known := origin[mark]; !known {
				origin[mark] = name
			}
		}
		head = head && line != ""
	}
	return origin
}
