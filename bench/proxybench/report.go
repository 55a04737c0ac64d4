package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// column is one column of a table.
type column struct {
	head string
	cell func(r row) string
}

// row is one proxy in one case.
type row struct {
	h     *harness
	c     benchCase
	p     proxy
	cells []cell
}

// values of one metric, one per round, NaN where a round has none.
func (r row) values(m metric) []float64 {
	out := make([]float64, len(r.cells))
	for i, c := range r.cells {
		v, ok := c[m]
		if !ok {
			v = math.NaN()
		}
		out[i] = v
	}
	return out
}

// of is the row of another proxy in the same case.
func (r row) of(name string) row {
	return row{h: r.h, c: r.c, p: proxy{name: name}, cells: r.h.cells[r.c.name][name]}
}

// spread shows the median and the range of values, each times scale.
func spread(values []float64, scale float64, format string) string {
	v := present(values)
	if len(v) == 0 {
		return "-"
	}
	text := fmt.Sprintf(format, median(v)*scale)
	if len(v) > 1 {
		text += fmt.Sprintf(" ["+format+"-"+format+"]", slices.Min(v)*scale, slices.Max(v)*scale)
	}
	return text
}

// estimate shows the median of values and its bootstrap interval.
func estimate(values []float64, format string) string {
	if len(values) == 0 {
		return "-"
	}
	low, high := interval(values)
	text := fmt.Sprintf(format, median(values))
	if len(values) > 1 {
		text += fmt.Sprintf(" ("+format+" to "+format+")", low, high)
	}
	return text
}

const reference = "nginx"

func plain(head string, m metric, scale float64, format string) column {
	return column{head, func(r row) string { return spread(r.values(m), scale, format) }}
}

// against is the ratio to nginx in the same round.
func against(head string, m metric) column {
	return column{head, func(r row) string {
		if r.p.name == reference {
			return "1"
		}
		return estimate(ratios(r.values(m), r.of(reference).values(m)), "%.2f")
	}}
}

// added is the difference to the direct row of the same round.
func added(head string, m metric) column {
	return column{head, func(r row) string {
		if r.p.name == direct {
			return "-"
		}
		return estimate(differences(r.values(m), r.of(direct).values(m)), "%.0f")
	}}
}

// rate is void where the proxy's core was not busy, for then something else was
// the limit, and where other processes were, for then they were.
func rate() column {
	return column{"req/s", func(r row) string {
		text := spread(r.values(mRate), 1, "%.0f")
		busy, foreign := present(r.values(mBusy)), present(r.values(mForeign))
		if len(busy) > 0 && (median(busy) < busyLimit || len(foreign) > 0 && median(foreign) > foreignLimit) {
			return "void (" + text + ")"
		}
		return text
	}}
}

func failed() column {
	return column{"failed", func(r row) string {
		n := 0.0
		for _, v := range present(r.values(mFailed)) {
			n += v
		}
		return fmt.Sprintf("%.0f", n)
	}}
}

// columns of the table of a case.
func (c benchCase) columns() []column {
	micro := "%.1f"
	rss := plain("RSS MiB", mRSS, 1.0/(1<<20), "%.1f")
	foreign := plain("foreign CPU %", mForeign, 100, "%.0f")
	switch c.kind {
	case throughput:
		return []column{
			rate(), plain("CPU µs/request", mCPU, 1, micro), against("CPU against nginx (95 %)", mCPU),
			plain("core busy %", mBusy, 100, "%.0f"), rss, failed(), foreign,
		}
	case latency:
		return []column{
			plain("P50 µs", mP50, 1, "%.0f"), plain("P99 µs", mP99, 1, "%.0f"),
			added("added P50 µs (95 %)", mP50), added("added P99 µs (95 %)", mP99),
			against("P50 against nginx (95 %)", mP50), failed(), foreign,
		}
	case firstByte:
		return []column{
			plain("P50 µs", mP50, 1, "%.0f"), plain("P99 µs", mP99, 1, "%.0f"),
			added("added P50 µs (95 %)", mP50), failed(), foreign,
		}
	case events:
		return []column{
			plain("CPU µs/event", mCPU, 1, micro), against("CPU against nginx (95 %)", mCPU),
			plain("delay P50 µs", mP50, 1, "%.0f"), plain("delay P99 µs", mP99, 1, "%.0f"),
			against("delay P50 against nginx (95 %)", mP50), plain("first event P50 µs", mFirstP50, 1, "%.0f"),
			{"out of order", func(r row) string { return spread(r.values(mDisorder), 1, "%.0f") }},
			failed(), foreign,
		}
	default:
		return []column{
			plain("streams", mStreams, 1, "%.0f"), plain("RSS KiB/stream", mPerUnit, 1.0/1024, "%.1f"), rss, failed(),
		}
	}
}

// tables renders every case.
func (h *harness) tables() string {
	var b strings.Builder
	for _, c := range h.cases {
		fmt.Fprintf(&b, "### %s\n\n", c.title)
		cols := c.columns()
		b.WriteString("| |")
		for _, col := range cols {
			b.WriteString(" " + col.head + " |")
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(cols)) + "\n")
		for _, p := range h.proxies {
			cells := h.cells[c.name][p.name]
			if len(cells) == 0 {
				continue
			}
			b.WriteString("| " + p.name + " |")
			for _, col := range cols {
				b.WriteString(" " + col.cell(row{h: h, c: c, p: p, cells: cells}) + " |")
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// budget is a limit that the gateway has set itself, as a ratio to nginx in the
// same round, or as a figure of its own.
type budget struct {
	name   string
	bench  string
	proxy  string
	metric metric
	ratio  bool
	limit  float64
	scale  float64
	unit   string
}

func budgets() []budget {
	const gateway, known = "Penstock", "Penstock, keys of known text"
	return []budget{
		{"CPU per request, 1 KiB, against nginx", "small", gateway, mCPU, true, 1.2, 1, "×"},
		{"CPU per request, 32 KiB, against nginx", "large", gateway, mCPU, true, 1.5, 1, "×"},
		{"CPU per request with keys, known 1 KiB, against nginx", "keyed", known, mCPU, true, 1.4, 1, "×"},
		{"CPU per request with keys, known 32 KiB, against nginx", "keyed-large", known, mCPU, true, 2.5, 1, "×"},
		{"latency P50, one connection, against nginx", "one", gateway, mP50, true, 1.0, 1, "×"},
		{"CPU per event, against nginx", "events", gateway, mCPU, true, 1.0, 1, "×"},
		{"event delay P50, against nginx", "events", gateway, mP50, true, 1.2, 1, "×"},
		{"events out of order or lost", "events", gateway, mDisorder, false, 0, 1, ""},
		{"RSS per open stream", "idle", gateway, mPerUnit, false, 32, 1.0 / 1024, " KiB"},
	}
}

// verdicts compares Penstock's medians with its budgets.
func (h *harness) verdicts() string {
	var b strings.Builder
	b.WriteString("| budget | limit | measured | |\n|---|---|---|---|\n")
	rows := 0
	for _, g := range budgets() {
		r := row{h: h, c: benchCase{name: g.bench}, cells: h.cells[g.bench][g.proxy]}
		v := present(r.values(g.metric))
		if g.ratio {
			v = ratios(r.values(g.metric), r.of(reference).values(g.metric))
		}
		if len(v) == 0 {
			continue
		}
		rows++
		got, word := median(v)*g.scale, "met"
		if got > g.limit {
			word = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %g%s | %.3g%s | %s |\n", g.name, g.limit, g.unit, got, g.unit, word)
	}
	if rows == 0 {
		return ""
	}
	return "### Budgets\n\n" + b.String() + "\n"
}
