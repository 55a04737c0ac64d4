package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong, or doubtful, at one place of a file.
type Problem struct {
	Line    int    `json:"line"`   // from 1; 0 when there is no file
	Column  int    `json:"column"` // from 1; 0 when there is no file
	Path    string `json:"path"`   // such as pools[0].replicas[1].url; "" for the whole file
	Message string `json:"message"`
}

// String writes the problem as "LINE:COLUMN: path: message", leaving out what
// it does not have.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d: ", p.Line, p.Column)
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Errors is everything wrong with one configuration.
type Errors struct {
	File     string // "" when the text did not come from a file
	Problems []Problem
}

// Error lists every problem on its own line.
func (e *Errors) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, e.line(p))
	}
	return strings.Join(lines, "\n")
}

func (e *Errors) line(p Problem) string {
	switch {
	case e.File == "":
		return p.String()
	case p.Line > 0:
		return e.File + ":" + p.String()
	default:
		return e.File + ": " + p.String()
	}
}

// sortProblems orders by place, so that a report reads from top to bottom.
func sortProblems(list []Problem) {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
}
