package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// foreignLimit is the share of a core that other processes may take.
const foreignLimit = 0.10

// busyLimit is how busy the proxy's core must be for a rate to count.
const busyLimit = 0.95

// harness runs the rounds and keeps what they measured.
type harness struct {
	options
	notes   io.Writer
	self    string
	wrk     string // "" : not here, the own generator instead
	proxies []proxy
	missing []string
	cases   []benchCase
	cells   map[string]map[string][]cell // case, proxy, round
	remarks []string
}

func newHarness(o options, notes io.Writer) (*harness, error) {
	h := &harness{options: o, notes: notes, cells: map[string]map[string][]cell{}}
	if o.proxyCore >= runtime.NumCPU() || o.helpCore >= runtime.NumCPU() {
		return nil, fmt.Errorf("cannot use cores %d and %d of %d", o.proxyCore, o.helpCore, runtime.NumCPU())
	}
	var err error
	if h.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("cannot find own binary: %w", err)
	}
	if h.cases, err = selectCases(o.cases); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(o.tokenizer, "tokenizer.json")); err != nil {
		h.remark("no tokenizer in %q (bench/oracle/setup.sh gets one): no rows with keys", o.tokenizer)
		h.tokenizer = ""
	}
	files, err := raiseFiles(1 << 17)
	if err != nil {
		return nil, err
	}
	// A proxy needs two descriptors for each stream, and keeps some for itself:
	// Penstock a thousand.
	room := (int(files) - 100) / 2
	if most := room - 500; h.streams > most {
		h.remark("case idle holds %d streams instead of %d: the limit of open files is %d", most, h.streams, files)
		h.streams = most
	}
	if h.wrk, err = binary("wrk"); err != nil {
		h.wrk = ""
		h.remark("wrk is missing (see setup.sh): throughput is driven by the own generator, which may need more CPU than a proxy")
	}
	h.proxies, h.missing = proxies(h.self, o.penstock, o.tokenizer, room)
	for _, m := range h.missing {
		h.remark("not measured: %s", m)
	}
	err = h.bindSelf()
	return h, err
}

// bindSelf moves the threads of this process off the proxy's core.
func (h *harness) bindSelf() error {
	var set unix.CPUSet
	set.Set(h.helpCore)
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("cannot list own threads: %w", err)
	}
	for _, e := range entries {
		var tid int
		if _, err := fmt.Sscan(e.Name(), &tid); err == nil {
			err = unix.SchedSetaffinity(tid, &set)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("cannot bind to core %d: %w", h.helpCore, err)
			}
		}
	}
	return nil
}

func (h *harness) remark(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	h.remarks = append(h.remarks, text)
	fmt.Fprintln(h.notes, "proxybench:", text)
}

// rounds measures every case with every proxy, all proxies once before any of
// them again, so that a slow minute of the machine falls on all.
func (h *harness) rounds(ctx context.Context) error {
	for round := range h.options.rounds {
		for _, c := range h.cases {
			for _, p := range h.proxies {
				if !p.takesPart(&c) {
					continue
				}
				m, err := h.undisturbed(ctx, round, c, p)
				if ctx.Err() != nil {
					return fmt.Errorf("cannot finish: %w", ctx.Err())
				}
				if err != nil {
					h.remark("round %d, case %s, %s: %v", round+1, c.name, p.name, err)
					m = cell{} // keeps the rounds aligned
				}
				if h.cells[c.name] == nil {
					h.cells[c.name] = map[string][]cell{}
				}
				h.cells[c.name][p.name] = append(h.cells[c.name][p.name], m)
			}
		}
	}
	return nil
}

// undisturbed repeats a cell while other processes took too much CPU.
func (h *harness) undisturbed(ctx context.Context, round int, c benchCase, p proxy) (cell, error) {
	for try := 0; ; try++ {
		m, err := h.measure(ctx, c, p)
		if err != nil {
			return m, err
		}
		fmt.Fprintf(h.notes, "round %d  %-9s  %-13s  %s\n", round+1, c.name, p.name, m)
		if m[mForeign] <= foreignLimit {
			return m, nil
		}
		if try == h.repeats {
			h.remark("round %d, case %s, %s: other processes took %.0f %% of a core", round+1, c.name, p.name, m[mForeign]*100)
			return m, nil
		}
	}
}

func (m cell) String() string {
	var text strings.Builder
	for _, k := range []metric{mRate, mCPU, mBusy, mForeign, mP50, mP99, mFirstP50, mRSS, mPerUnit, mFailed, mDisorder} {
		if v, ok := m[k]; ok {
			fmt.Fprintf(&text, "%s %.4g  ", k, v)
		}
	}
	return text.String()
}

// measure runs one cell with a fresh upstream and a fresh proxy.
func (h *harness) measure(ctx context.Context, c benchCase, p proxy) (cell, error) {
	dir, err := os.MkdirTemp("", "proxybench")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	upstreamAddress, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	up, err := launch(exec.Command(h.self, "upstream", upstreamAddress), h.helpCore)
	if err != nil {
		return nil, err
	}
	defer up.stop()
	if err := up.await(ctx, upstreamAddress); err != nil {
		return nil, err
	}
	r := runner{h: h, c: c, upstream: []int{up.cmd.Process.Pid, os.Getpid()}, address: upstreamAddress}
	if p.command != nil {
		if r.address, err = freeAddress(ctx); err != nil {
			return nil, err
		}
		admin, err := freeAddress(ctx)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, adminFile), []byte(admin), 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot note an admin address: %w", err)
		}
		cmd, err := p.command(dir, r.address, upstreamAddress)
		if err != nil {
			return nil, fmt.Errorf("cannot configure %s: %w", p.name, err)
		}
		proc, err := launch(cmd, h.proxyCore)
		if err != nil {
			return nil, err
		}
		defer proc.stop()
		if err := proc.await(ctx, r.address); err != nil {
			return nil, err
		}
		// Answered once, it has all its processes: nginx accepts connections
		// before it has forked its worker.
		if err := askOnce(ctx, r.address); err != nil {
			return nil, fmt.Errorf("cannot get an answer through %s: %w", p.name, err)
		}
		if p.ready != nil {
			if err := p.ready(ctx, dir); err != nil {
				return nil, err
			}
		}
		if r.proxy, err = tree(proc.cmd.Process.Pid); err != nil {
			return nil, err
		}
	}
	return r.run(ctx, dir)
}
