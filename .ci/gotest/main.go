// Command gotest runs "go test" with its own arguments and shows one line per
// package, the output of what failed, and how many tests ran. It fails when no
// test ran: a pattern that matches nothing must not pass.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// event is one line of "go test -json".
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	// ImportPath is set instead of Package in lines of the build.
	ImportPath string
}

// tally counts tests and holds back output until it is known to matter.
type tally struct {
	out                     io.Writer
	passed, failed, skipped int
	packages                int
	held                    map[string][]string // by package and test
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(stderr, "gotest: cannot run go:", err)
		return 1
	}
	t := &tally{out: stdout, held: map[string][]string{}}
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		t.line(line)
		if err != nil {
			break
		}
	}
	err = cmd.Wait()
	fmt.Fprintf(stdout, "%d tests passed, %d failed, %d skipped, in %d packages\n", t.passed, t.failed, t.skipped, t.packages)
	switch {
	case err != nil || t.failed > 0:
		return 1
	case t.passed == 0:
		fmt.Fprintln(stderr, "gotest: no test ran")
		return 1
	}
	return 0
}

func (t *tally) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(t.out, line)
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		t.held[key] = append(t.held[key], e.Output)
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "pass", "fail", "skip":
		t.end(e, key)
	}
}

// end counts a finished test or package and shows what it wrote if it failed.
func (t *tally) end(e event, key string) {
	held := t.held[key]
	delete(t.held, key)
	if e.Test == "" {
		t.packages++
		for _, line := range held {
			if e.Action == "fail" || isSummary(line) {
				fmt.Fprint(t.out, line)
			}
		}
		return
	}
	switch e.Action {
	case "pass":
		t.passed++
	case "skip":
		t.skipped++
		fmt.Fprintf(t.out, "--- SKIP: %s: %s", key, reason(held))
	case "fail":
		t.failed++
		for _, line := range held {
			fmt.Fprint(t.out, line)
		}
	}
}

// isSummary picks the line that go test prints for a package.
func isSummary(line string) bool {
	return strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "FAIL\t") || strings.Contains(line, "[no test files]")
}

// reason is what a skipped test said.
func reason(held []string) string {
	i := slices.IndexFunc(held, func(s string) bool {
		return strings.HasPrefix(s, "    ") && !strings.HasPrefix(strings.TrimSpace(s), "---")
	})
	if i < 0 {
		return "no reason given\n"
	}
	return strings.TrimSpace(held[i]) + "\n"
}
