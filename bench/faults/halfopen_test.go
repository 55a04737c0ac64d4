//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"penstock/bench/enginesim"
	"penstock/bench/enginesim/core"
	"penstock/configs"
)

// island is a network namespace that one virtual cable joins to ours. Pulling
// the cable leaves connections half open: nobody says that the other is gone.
type island struct {
	t            *testing.T
	name, cable  string
	here, beyond string // addresses of the two ends
}

// newIsland makes a namespace, or skips the test where that is not allowed.
// subnet is the third part of the address, which tests must not share.
func newIsland(t *testing.T, subnet int) *island {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no ip command (iproute2)")
	}
	tag := fmt.Sprintf("%d-%d", os.Getpid()%100_000, subnet)
	i := &island{
		t: t, name: "psfault-" + tag, cable: "ps" + tag,
		here: fmt.Sprintf("10.231.%d.1", subnet), beyond: fmt.Sprintf("10.231.%d.2", subnet),
	}
	if out, err := i.ip("netns", "add", i.name); err != nil {
		t.Skipf("cannot make a network namespace: %v: %s", err, out)
	}
	t.Cleanup(func() {
		_, _ = i.ip("link", "del", i.cable) // gone already when the namespace is
		_, _ = i.ip("netns", "del", i.name)
	})
	for _, args := range [][]string{
		{"link", "add", i.cable, "type", "veth", "peer", "name", "eth0", "netns", i.name},
		{"addr", "add", i.here + "/24", "dev", i.cable},
		{"link", "set", i.cable, "up"},
		{"-n", i.name, "addr", "add", i.beyond + "/24", "dev", "eth0"},
		{"-n", i.name, "link", "set", "eth0", "up"},
	} {
		if out, err := i.ip(args...); err != nil {
			t.Skipf("cannot lay a virtual cable: ip %v: %v: %s", args, err, out)
		}
	}
	return i
}

func (i *island) ip(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return exec.CommandContext(ctx, "ip", args...).CombinedOutput()
}

// pull takes the far end down: packets vanish and no reset comes back.
func (i *island) pull() {
	i.t.Helper()
	if out, err := i.ip("-n", i.name, "link", "set", "eth0", "down"); err != nil {
		i.t.Fatalf("cannot pull the cable: %v: %s", err, out)
	}
}

// inside runs f on a thread that is in the namespace; sockets that it makes stay
// there. The thread comes back: the kernel would kill the processes that were
// started from it if it ended (see Binary.Serve).
func (i *island) inside(f func() error) {
	i.t.Helper()
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			result <- err
			return
		}
		defer home.Close()
		err = enter("/var/run/netns/" + i.name)
		if err == nil {
			err = f()
		}
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back == nil {
			runtime.UnlockOSThread()
		} else {
			err = errors.Join(err, back)
		}
		result <- err
	}()
	if err := <-result; err != nil {
		i.t.Fatal(err)
	}
}

// enter moves the calling thread into a network namespace.
func enter(path string) error {
	ns, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET), ns.Close())
}

func TestEngineBehindADeadCableIsGivenUp(t *testing.T) {
	real(t)
	i := newIsland(t, 1)
	var e *Engine
	i.inside(func() error {
		ln, err := net.Listen("tcp", i.beyond+":0")
		if err != nil {
			return err
		}
		cfg := EngineConfig()
		cfg.Engine.Timing = core.Timing{Base: 5e-3}
		e, err = ServeEngine(ln, cfg)
		return err
	})
	t.Cleanup(func() { _ = e.Close() })
	g := start(t, []string{e.URL}, pool(func(p *configs.Pool) {
		p.Connections.KeepAlive, p.Connections.UserTimeout = ms(1000), ms(1500)
		p.Timeouts.Dial = ms(3000) // the first packet of a new cable may be lost
	}))
	_, stream := g.open(&Chat{Tokens: 5000, Stream: true}, 3)
	waiting := g.dial()
	g.send(waiting, (&Chat{Tokens: 5000}).Raw())
	g.eventually("both at the engine", func() bool { return e.Stats().Running == 2 })
	i.pull()
	stream.Rest()
	if stream.Failed == "" || stream.Complete() || stream.Done || stream.Clean {
		t.Errorf("the stream: got %s, want an error event and no good end", stream)
	}
	a := g.follow(waiting, 0)
	a.Rest()
	if a.StatusCode < 500 || a.Failed == "" {
		t.Errorf("the answer in one piece: got %s", a)
	}
	// A new connection does not come up either.
	if a := g.ask((&Chat{Tokens: 1}).Raw()); a.StatusCode < 500 || a.Failed == "" {
		t.Errorf("a new request: got %s", a)
	}
}

func TestClientBehindADeadCableIsGivenUp(t *testing.T) {
	real(t)
	i := newIsland(t, 2)
	e := engine(t, 5*time.Millisecond)
	aborted := make(chan struct{}, 4)
	e.OnAbort(func(enginesim.RequestInfo) { aborted <- struct{}{} })
	g := start(t, []string{e.URL}, func(c *configs.Config) {
		c.Listen.Address, c.Listen.UserTimeout = i.here+":0", ms(1500)
	})
	var clients []*Client
	i.inside(func() error {
		for range 2 {
			c, err := net.Dial("tcp", g.Data)
			if err != nil {
				return err
			}
			client, err := NewClient(c.(*net.TCPConn))
			if err != nil {
				return err
			}
			clients = append(clients, client)
		}
		return nil
	})
	for _, c := range clients {
		t.Cleanup(func() { _ = c.Close() })
		g.send(c, (&Chat{Tokens: 5000, Stream: true}).Raw())
		g.follow(c, 3)
	}
	i.pull()
	for range clients {
		await(t, aborted, "the abort at the engine")
	}
	g.breakersClosed()
}
