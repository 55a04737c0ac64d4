package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startOn calls start on a thread that is bound to core, so that the child
// process, and every thread it makes, inherits the binding.
func startOn(core int, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("cannot read the affinity: %w", err)
	}
	only.Set(core)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("cannot bind to core %d: %w", core, err)
	}
	err := start()
	if e := unix.SchedSetaffinity(0, &before); e != nil {
		return errors.Join(err, fmt.Errorf("cannot restore the affinity: %w", e))
	}
	return err
}

// raiseFiles raises the limit of open files for this process and its children
// and returns it. Root may raise the hard limit; others get up to it.
func raiseFiles(want uint64) (uint64, error) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		return 0, fmt.Errorf("cannot read the limit of open files: %w", err)
	}
	// The syscall package, not x/sys: it tells the runtime that children must
	// keep the new limit.
	for _, l := range []syscall.Rlimit{{Cur: want, Max: max(want, now.Max)}, {Cur: min(want, now.Max), Max: now.Max}} {
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
			return l.Cur, nil
		}
	}
	return now.Cur, nil
}

// processClock is the id of the CPU clock of process pid: all its threads, ended
// ones too, in nanoseconds. It is what utime+stime in /proc/pid/stat round.
func processClock(pid int) int32 { return int32(^pid<<3 | 2) }

// cpuOf is the CPU time used so far by the processes.
func cpuOf(pids []int) (time.Duration, error) {
	var total time.Duration
	for _, pid := range pids {
		var ts unix.Timespec
		if err := unix.ClockGettime(processClock(pid), &ts); err != nil {
			return 0, fmt.Errorf("cannot read the CPU clock of process %d: %w", pid, err)
		}
		total += time.Duration(ts.Nano())
	}
	return total, nil
}

// tree is pid and its descendants.
func tree(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		if child, parent, ok := parseStat(string(b)); ok {
			children[parent] = append(children[parent], child)
		}
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all, nil
}

// parseStat reads the pid and the parent's from a line of /proc/pid/stat. The
// name in brackets may hold anything, brackets too.
func parseStat(line string) (pid, parent int, ok bool) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return 0, 0, false
	}
	fields := strings.Fields(line[end+1:])
	pid, err1 := strconv.Atoi(strings.TrimSpace(line[:open]))
	if len(fields) < 2 || err1 != nil {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return pid, parent, err == nil
}

// residentOf is the resident memory of the processes in bytes. Pages that they
// share are counted in each.
func residentOf(pids []int) (int64, error) {
	var pages int64
	for _, pid := range pids {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
		if err != nil {
			return 0, fmt.Errorf("cannot read memory: %w", err)
		}
		fields := strings.Fields(string(b))
		if len(fields) < 2 {
			return 0, fmt.Errorf("cannot read memory of process %d: %q", pid, b)
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read memory of process %d: %w", pid, err)
		}
		pages += n
	}
	return pages * int64(os.Getpagesize()), nil
}

// coreTime is what one core did so far.
type coreTime struct {
	busy, irq time.Duration // irq: hard and soft interrupts, part of busy
}

func (c coreTime) sub(o coreTime) coreTime {
	return coreTime{busy: c.busy - o.busy, irq: c.irq - o.irq}
}

// tick is the unit of /proc/stat; Linux fixes it at 10 ms for user space.
const tick = 10 * time.Millisecond

// parseCores reads /proc/stat: one entry per core, by its number.
func parseCores(text string) (map[int]coreTime, error) {
	cores := map[int]coreTime{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") || fields[0] == "cpu" {
			continue
		}
		n, err := strconv.Atoi(fields[0][3:])
		if err != nil {
			return nil, fmt.Errorf("cannot read core %q: %w", fields[0], err)
		}
		var v [8]time.Duration // user nice system idle iowait irq softirq steal
		for i := range v {
			x, err := strconv.ParseInt(fields[i+1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("cannot read core %d: %w", n, err)
			}
			v[i] = time.Duration(x) * tick
		}
		cores[n] = coreTime{busy: v[0] + v[1] + v[2] + v[5] + v[6], irq: v[5] + v[6]}
	}
	return cores, nil
}

// sample is the state of the accounts at one moment.
type sample struct {
	at    time.Time
	cores map[int]coreTime
	proxy time.Duration // the process under test
	ours  time.Duration // upstream, generator and harness
}

func take(proxy, ours []int) (sample, error) {
	s := sample{at: time.Now()}
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return s, fmt.Errorf("cannot read the cores: %w", err)
	}
	if s.cores, err = parseCores(string(b)); err != nil {
		return s, err
	}
	if s.proxy, err = cpuOf(proxy); err != nil {
		return s, err
	}
	s.ours, err = cpuOf(ours)
	return s, err
}

// account is what happened between two samples.
type account struct {
	cpu     time.Duration // charged to the process under test
	busy    float64       // share of its core that was busy
	foreign float64       // largest share of a core that neither it nor the harness used
}

// settle charges the interrupt time of the core to the process, but not more
// than the core was busy: without CONFIG_IRQ_TIME_ACCOUNTING the kernel has
// already counted interrupts that came while the process ran as its own.
// children is CPU of generators that began and ended in between. Without a
// process under test (core < 0) only the helpers' core counts.
func settle(a, b sample, core, helperCore int, children time.Duration) account {
	span := b.at.Sub(a.at)
	helper := b.cores[helperCore].sub(a.cores[helperCore])
	var own coreTime
	if core >= 0 {
		own = b.cores[core].sub(a.cores[core])
	}
	proxy := b.proxy - a.proxy
	charged := max(proxy, min(proxy+own.irq, own.busy))
	foreign := own.busy - charged
	rest := helper.busy - helper.irq - (b.ours - a.ours) - children
	return account{
		cpu:     charged,
		busy:    float64(own.busy) / float64(span),
		foreign: float64(max(foreign, rest, 0)) / float64(span),
	}
}
