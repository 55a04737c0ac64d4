package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"penstock/bench/results"
)

// section is proxybench's part of the file of results.
const section = results.Section("proxybench")

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
	line("commit", results.Commit())
	line("machine", fmt.Sprintf("%s, %d cores, %s", results.Processor(), runtime.NumCPU(), results.Memory()))
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
