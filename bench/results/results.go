// Package results writes what benchmarks measured into a file that is partly written by
// hand, and says on what it was measured.
package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// Section is the part of a file that one benchmark owns. What stands between its
// markers is replaced by the next run; the rest is kept.
type Section string

func (s Section) begin() string { return "<!-- " + string(s) + ": begin -->" }
func (s Section) end() string   { return "<!-- " + string(s) + ": end -->" }

// Publish prints text and puts it into the file at path, if one is named.
func (s Section) Publish(path, text string, stdout io.Writer) error {
	if _, err := io.WriteString(stdout, text); err != nil {
		return fmt.Errorf("cannot print the result: %w", err)
	}
	if path == "" {
		return nil
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the results: %w", err)
	}
	if err := os.WriteFile(path, []byte(s.Insert(string(old), text)), 0o644); err != nil {
		return fmt.Errorf("cannot write the results: %w", err)
	}
	return nil
}

// Insert puts text between the markers of old, or at its end.
func (s Section) Insert(old, text string) string {
	block := s.begin() + "\n" + text + s.end() + "\n"
	before, rest, ok := strings.Cut(old, s.begin())
	_, after, closed := strings.Cut(rest, s.end())
	switch {
	case ok && closed:
		return before + block + strings.TrimPrefix(after, "\n")
	case old == "":
		return "# Measured results\n\n" + block
	default:
		return strings.TrimRight(old, "\n") + "\n\n" + block
	}
}

// Commit is what the working tree stands at, with a plus when it has changes.
func Commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return unknown
	}
	id := strings.TrimSpace(string(out))
	if dirty, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output(); err == nil && len(dirty) > 0 {
		id += "+"
	}
	return id
}

const unknown = "unknown"

// Processor is the name of the machine's processor.
func Processor() string { return procField("/proc/cpuinfo", "model name") }

// Memory is the size of the machine's memory.
func Memory() string { return procField("/proc/meminfo", "MemTotal") + " of memory" }

// procField is the first value called name in a file of "name: value" lines.
func procField(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return unknown
	}
	for line := range strings.Lines(string(b)) {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return unknown
}
