package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"penstock/bench/oracle/corpus"
	"penstock/bench/results"
)

// section is this command's part of the file of results.
const section = results.Section("tokenizers")

const method = `MB/s of one core, by the CPU clock of the thread, the median of %d rounds that alternate between ours and the official tokenizers. Steady: a new encoder, its cache warmed on 60 %% of a text, then one pass over the unseen 40 %% in documents of 16 KB, one call each. The official tokenizers (Hugging Face tokenizers and tiktoken or mistral-common, called from Python, one thread, no batches) get the same documents and the same warming; from their second round on they know the unseen documents too.
`

func document(o options, args []string, measured []result) string {
	var b strings.Builder
	b.WriteString("## What tokenizing costs\n\n")
	if o.rounds < 5 {
		fmt.Fprintf(&b, "**%d round(s): a smoke run, not a result.**\n\n", o.rounds)
	}
	line := func(name, value string) { fmt.Fprintf(&b, "- %s: %s\n", name, value) }
	line("date", time.Now().UTC().Format(time.DateOnly))
	line("command", "`"+strings.TrimSpace("go run ./bench/oracle/speed "+strings.Join(args, " "))+"`")
	line("commit", results.Commit())
	line("machine", fmt.Sprintf("%s, %d cores", results.Processor(), runtime.NumCPU()))
	line("Go", runtime.Version())
	fmt.Fprintf(&b, "\n"+method+"\n", o.rounds)
	b.WriteString(floors(measured))
	b.WriteString(speeds(measured))
	b.WriteString(costs(measured))
	b.WriteString(worstTable(measured))
	b.WriteString(conversations(measured))
	return b.String()
}

// floor is what is wanted of a kind of text, in MB/s; 0 for nothing.
func floor(r result, kind corpus.Kind) float64 {
	switch r.info.Kind {
	case "SentencePiece BPE":
		return 20
	case "Unigram", "WordPiece":
		return 0
	}
	switch kind {
	case corpus.English:
		return 60
	case corpus.Code:
		return 70
	case corpus.Mixed:
		return 40
	case corpus.Chinese:
		return 20
	case corpus.Space:
	}
	return 0
}

// Limits that hold for every model.
const (
	worstLimit = 60 * time.Millisecond
	loadLimit  = time.Second
)

// floors lists what was missed, and counts what was met.
func floors(results []result) string {
	var missed []string
	met := 0
	check := func(ok bool, format string, args ...any) {
		if ok {
			met++
			return
		}
		missed = append(missed, fmt.Sprintf(format, args...))
	}
	for _, r := range results {
		if r.refused != "" {
			continue
		}
		for _, kind := range corpus.Kinds() {
			if want := floor(r, kind); want > 0 {
				got := median(r.speed[kind]["ours"])
				check(got >= want, "%s, %s: %.0f MB/s, wanted %.0f", r.model.Name, kind, got, want)
			}
		}
		for _, w := range r.worst {
			check(median(w.times) <= worstLimit, "%s, 400 KB of %s: %s, wanted %s", r.model.Name, w.name, millis(median(w.times)), millis(worstLimit))
		}
		// By the CPU clock: what else the machine does is no fault of the loader.
		check(r.loadCPU <= loadLimit, "%s loads in %s of CPU, wanted %s", r.model.Name, millis(r.loadCPU), millis(loadLimit))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### Floors\n\nByte-level: English 60, code 70, mixed 40, Chinese 20 MB/s; SentencePiece BPE 20 on all; 400 KB of the worst 60 ms; loading 1 s of CPU. %d met, %d missed.\n\n", met, len(missed))
	for _, m := range missed {
		b.WriteString("- missed: " + m + "\n")
	}
	if len(missed) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func speeds(results []result) string {
	var b strings.Builder
	b.WriteString("### Steady speed, MB/s\n\nOurs / Hugging Face / tiktoken or mistral-common.\n\n| model | kind | family |")
	for _, kind := range corpus.Kinds() {
		fmt.Fprintf(&b, " %s |", kind)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(corpus.Kinds())) + "\n")
	for _, r := range results {
		if r.refused != "" {
			fmt.Fprintf(&b, "| %s | refused: %s |%s\n", r.model.Name, r.refused, strings.Repeat(" |", len(corpus.Kinds())+1))
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", r.model.Name, r.info.Kind, r.info.Family)
		for _, kind := range corpus.Kinds() {
			s := r.speed[kind]
			ranks := slices.Concat(s["tiktoken"], s["mistral"])
			fmt.Fprintf(&b, " **%s** / %s / %s |", figure(s["ours"]), figure(s["hf"]), figure(ranks))
		}
		b.WriteString("\n")
	}
	return b.String() + "\n"
}

func figure(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g", median(values))
}

func costs(results []result) string {
	var b strings.Builder
	b.WriteString("### Loading and memory\n\n| model | ids | load | CPU of it | resident | of these counted | one warm encoder | allocations per encoding |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		if r.refused == "" {
			fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %.2f |\n", r.model.Name, r.info.Vocabulary, millis(r.load), millis(r.loadCPU),
				mebibytes(r.resident), mebibytes(r.info.Bytes), mebibytes(r.encoder), r.allocs)
		}
	}
	return b.String() + "\n"
}

func worstTable(results []result) string {
	var b strings.Builder
	b.WriteString("### Worst inputs of 400 KB, ms\n\n| model |")
	for _, input := range worstInputs() {
		fmt.Fprintf(&b, " %s |", input.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(worstInputs())) + "\n")
	for _, r := range results {
		if r.refused != "" {
			continue
		}
		fmt.Fprintf(&b, "| %s |", r.model.Name)
		for _, w := range r.worst {
			fmt.Fprintf(&b, " %.1f |", median(w.times).Seconds()*1e3)
		}
		b.WriteString("\n")
	}
	return b.String() + "\n"
}

func millis(d time.Duration) string { return fmt.Sprintf("%.0f ms", d.Seconds()*1e3) }

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
