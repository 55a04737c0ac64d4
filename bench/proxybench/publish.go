package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What stands between the markers is replaced by the next run; the rest of the
// file is written by hand and kept.
const (
	beginMark = "<!-- proxybench: begin -->"
	endMark   = "<!-- proxybench: end -->"
)

// publish prints the result and puts it into the file, if one is named.
func (h *harness) publish(args []string, stdout io.Writer) error {
	text := h.document(args)
	if _, err := io.WriteString(stdout, text); err != nil {
		return fmt.Errorf("cannot print the result: %w", err)
	}
	if h.out == "" {
		return nil
	}
	old, err := os.ReadFile(h.out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the results: %w", err)
	}
	if err := os.WriteFile(h.out, []byte(insert(string(old), text)), 0o644); err != nil {
		return fmt.Errorf("cannot write the results: %w", err)
	}
	return nil
}

// insert puts text between the markers of old, or at its end.
func insert(old, text string) string {
	block := beginMark + "\n" + text + endMark + "\n"
	before, rest, ok := strings.Cut(old, beginMark)
	_, after, closed := strings.Cut(rest, endMark)
	switch {
	case ok && closed:
		return before + block + strings.TrimPrefix(after, "\n")
	case old == "":
		return "# Measured results\n\n" + block
	default:
		return strings.TrimRight(old, "\n") + "\n\n" + block
	}
}

func (h *harness) document(args []string) string {
	var b strings.Builder
	b.WriteString("## What a proxy costs\n\n")
	if h.options.rounds < 5 {
		fmt.Fprintf(&b, "**%d round(s): a smoke run, not a result.**\n\n", h.options.rounds)
	}
	b.WriteString(h.surroundings(args))
	b.WriteString("\n" + method + "\n")
	b.WriteString(h.verdicts())
	b.WriteString(h.tables())
	if len(h.remarks) > 0 {
		b.WriteString("### Remarks of the run\n\n")
		for _, r := range h.remarks {
			b.WriteString("- " + r + "\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

const method = `Each cell is the median over the rounds [smallest-largest]; ratios and differences are taken within a round, with the 95 % bootstrap interval of their median in brackets. CPU is the kernel's CPU clock of the proxy's processes plus the interrupt time (hard and soft) of its core, not more than that core was busy. The proxy has one core and one thread to itself; upstream, generator and harness share another. A rate is void unless the proxy's core was at least 95 % busy and foreign CPU at most 10 %. Foreign CPU is the share of either core that other processes took; above 10 % the cell is repeated. nginx buffers answers in one piece and not streams; the other proxies treat both alike.
`

// surroundings says what the figures hold for.
func (h *harness) surroundings(args []string) string {
	var u unix.Utsname
	kernel := "unknown"
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "- %s: %s\n", name, value) }
	line("date", time.Now().UTC().Format(time.DateOnly))
	line("command", "`"+strings.TrimSpace("go run ./bench/proxybench "+strings.Join(args, " "))+"`")
	line("commit", commit())
	line("machine", fmt.Sprintf("%s, %d cores, %s", processor(), runtime.NumCPU(), memory()))
	line("kernel", "Linux "+kernel)
	line("Go", runtime.Version())
	for _, p := range h.proxies {
		if p.version != "" {
			line(p.name, p.version)
		}
	}
	if h.wrk != "" {
		line("throughput driven by", "wrk, 1 thread")
	}
	return b.String()
}

// commit is what the working tree stands at, with a plus when it has changes.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	id := strings.TrimSpace(string(out))
	if dirty, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output(); err == nil && len(dirty) > 0 {
		id += "+"
	}
	return id
}

func processor() string { return procField("/proc/cpuinfo", "model name") }

func memory() string { return procField("/proc/meminfo", "MemTotal") + " of memory" }

// procField is the first value called name in a file of "name: value" lines.
func procField(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}
