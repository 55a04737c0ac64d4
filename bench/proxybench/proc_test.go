package main

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	f := func(line string, pid, parent int, ok bool) {
		t.Helper()
		p, q, good := parseStat(line)
		if good != ok || ok && (p != pid || q != parent) {
			t.Errorf("%q: %d, %d, %t", line, p, q, good)
		}
	}
	f("12 (nginx: w (x) y) S 7 12 12 0", 12, 7, true)
	f("12 (a) S", 0, 0, false)
	f("12 a S 7", 0, 0, false)
	f("", 0, 0, false)
	f(")(", 0, 0, false)
}

func TestParseCores(t *testing.T) {
	t.Parallel()
	got, err := parseCores("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 400 5 6 7 8 0 0\ncpu12 10 0 0 0 0 0 1 0 0 0\nintr 5\n")
	if err != nil || len(got) != 2 {
		t.Fatalf("got %v, %v", got, err)
	}
	if c := got[0]; c.busy != 19*tick || c.irq != 13*tick {
		t.Fatalf("core 0: %+v", c)
	}
	if c := got[12]; c.busy != 11*tick || c.irq != tick {
		t.Fatalf("core 12: %+v", c)
	}
	if _, err := parseCores("cpu0 1 2 x 4 5 6 7 8 0 0\n"); err == nil {
		t.Fatal("a core that is not a number was read")
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	f := func(name string, proxy, irq, busy, helper, ours time.Duration, want account) {
		t.Helper()
		a := sample{at: start, cores: map[int]coreTime{0: {}, 1: {}}}
		b := sample{
			at: start.Add(time.Second), proxy: proxy, ours: ours,
			cores: map[int]coreTime{0: {busy: busy, irq: irq}, 1: {busy: helper}},
		}
		if got := settle(a, b, 0, 1, 0); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	const ms = time.Millisecond
	f("interrupts beside the process are charged", 600*ms, 100*ms, 700*ms, 0, 0, account{700 * ms, 0.7, 0})
	f("interrupts counted already are not charged twice", 700*ms, 100*ms, 700*ms, 0, 0, account{700 * ms, 0.7, 0})
	f("the clock wins over ticks", 705*ms, 0, 700*ms, 0, 0, account{705 * ms, 0.7, 0})
	f("another process on the proxy's core", 500*ms, 0, 800*ms, 0, 0, account{500 * ms, 0.8, 0.3})
	f("another process on the helpers' core", 0, 0, 0, 900*ms, 500*ms, account{0, 0, 0.4})
	a := sample{at: start, cores: map[int]coreTime{0: {}, 1: {}}}
	b := sample{at: start.Add(time.Second), cores: map[int]coreTime{0: {busy: time.Second}, 1: {busy: 300 * ms}}}
	if got := settle(a, b, -1, 1, 200*ms); got != (account{0, 0, 0.1}) {
		t.Errorf("without a proxy: got %+v", got)
	}
}

func TestOwnFiguresCanBeRead(t *testing.T) {
	t.Parallel()
	me := []int{os.Getpid()}
	first, err := cpuOf(me)
	if err != nil {
		t.Fatal(err)
	}
	second, err := cpuOf(me)
	if err != nil || second < first || first <= 0 {
		t.Fatalf("CPU clock went from %s to %s, %v", first, second, err)
	}
	if rss, err := residentOf(me); err != nil || rss < 1<<20 {
		t.Fatalf("resident %d, %v", rss, err)
	}
	if _, err := cpuOf([]int{1 << 26}); err == nil {
		t.Fatal("a process that does not exist has a CPU clock")
	}
}

func TestTreeFindsChildren(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("no cat here")
	}
	pids, err := tree(os.Getpid())
	_ = in.Close()
	if e := cmd.Wait(); e != nil || err != nil {
		t.Fatal(e, err)
	}
	if !slices.Contains(pids, cmd.Process.Pid) {
		t.Fatalf("%v lacks %d", pids, cmd.Process.Pid)
	}
}
