package listen

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// The parts of a re-executed test binary.
const (
	partStarved  = "starved"  // serves with a low descriptor limit
	partSucceed  = "succeed"  // takes over, serves, hands over in its turn
	partCrash    = "crash"    // takes over and dies before it is ready
	partInherits = "inherits" // serves sockets passed in systemd's manner
	pathEnv      = "PENSTOCK_LISTEN_TEST_PATH"
)

func playPart(part string) int {
	play, ok := map[string]func() error{
		partStarved:  playStarved,
		partSucceed:  playSucceed,
		partCrash:    playCrash,
		partInherits: playInherits,
	}[part]
	if !ok {
		return 2
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, part+":", err)
		return 1
	}
	return 0
}

// greet serves l until it ends: each connection gets text and is closed once
// the client has closed its end, so neither side sends a reset.
func greet(l net.Listener, text string) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			defer func() { _ = c.Close() }()
			if _, err := io.WriteString(c, text); err == nil {
				_, _ = io.Copy(io.Discard, c)
			}
		})
	}
}

// playStarved says its address, then follows the lines on its standard input:
// "fill" takes every descriptor, "free" returns them, "stats" prints counters.
func playStarved() error {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l, err := New(inner, Options{MaxConns: 100})
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	serving.Go(func() { greet(l, "hello") })
	defer serving.Wait()
	defer func() { _ = l.Close() }()
	fmt.Println(l.Addr())

	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 48, Max: 48}); err != nil {
		return err
	}
	var taken []int
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "fill":
			for l.Stats().Open > 0 { // their descriptors would come free later
				runtime.Gosched()
			}
			for {
				fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
				if err != nil { // EMFILE
					break
				}
				taken = append(taken, fd)
			}
			fmt.Println("full")
		case "free":
			for _, fd := range taken {
				_ = unix.Close(fd)
			}
			taken = nil
			fmt.Println("free")
		case "stats":
			if err := json.NewEncoder(os.Stdout).Encode(l.Stats()); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

func TestNoDescriptorsAnswers503AndRecovers(t *testing.T) {
	t.Parallel()
	stdin, stdout, _ := startChild(t, partStarved)
	out := bufio.NewReader(stdout)
	say := func(word string) string {
		t.Helper()
		if word != "" {
			_, _ = io.WriteString(stdin, word+"\n")
		}
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("the child said nothing: %v", err)
		}
		return line[:len(line)-1]
	}
	addr, err := net.ResolveTCPAddr("tcp", say(""))
	if err != nil {
		t.Fatal(err)
	}
	served := func() bool {
		t.Helper()
		c := dial(t, addr)
		defer c.Close()
		got := make([]byte, 5)
		if _, err := io.ReadFull(c, got); err != nil {
			t.Fatalf("got %q, %v; want an answer", got, err)
		}
		return string(got) == "hello"
	}
	if !served() {
		t.Fatal("refused while there are descriptors")
	}
	say("fill")
	for range 5 {
		c := dial(t, addr)
		if _, err := io.WriteString(c, "GET /v1/models HTTP/1.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		readRefusal(t, c, ReasonDescriptors.String())
	}
	say("free")
	// The accept loop may just be looking for one more client to turn away.
	for !served() {
	}
	var s Stats
	if err := json.Unmarshal([]byte(say("stats")), &s); err != nil {
		t.Fatal(err)
	}
	if s.Rejected[ReasonDescriptors] < 5 || s.AcceptErrors == 0 || s.Accepted < 2 {
		t.Errorf("stats are %+v, want at least 5 rejected, some errors, 2 accepted", s)
	}
}

// playSucceed takes over at the path, serves, and hands over to the next. It
// says "ready" once it serves and "done" when it has handed over or its
// standard input has ended.
func playSucceed() error {
	path := os.Getenv(pathEnv)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	handed, err := Takeover(ctx, path)
	if err != nil {
		return err
	}
	set := NewSet(SetOptions{})
	set.Adopt(handed.Listeners())
	inner, err := set.Listen(ctx, "data", "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l, err := New(inner, Options{MaxConns: 1000})
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() { greet(l, fmt.Sprintf("%8d", os.Getpid())) })
	if err := handed.Ready(); err != nil {
		return err
	}
	fmt.Println("ready")
	taken := make(chan struct{})
	running.Go(func() {
		if err := set.ServeHandover(ctx, path, func() { close(taken) }); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(ended) }()
	select {
	case <-taken:
	case <-ended:
	}
	fmt.Println("done")
	cancel()
	err = errors.Join(l.Close(), set.Close())
	running.Wait()
	return err
}

func playCrash() error {
	handed, err := Takeover(context.Background(), os.Getenv(pathEnv))
	if err != nil {
		return err
	}
	for _, ln := range handed.Listeners() {
		fmt.Println("holds", ln.Addr())
	}
	os.Exit(0) // the kernel closes everything, as after a kill
	return nil
}

func playInherits() error {
	// A parent cannot know the child's pid before exec in Go.
	_ = os.Setenv("LISTEN_PID", fmt.Sprint(os.Getpid()))
	listeners, err := Inherited()
	if err != nil {
		return err
	}
	if left := os.Getenv("LISTEN_FDS"); left != "" {
		return fmt.Errorf("LISTEN_FDS is still %q", left)
	}
	set := NewSet(SetOptions{})
	set.Adopt(listeners)
	var serving sync.WaitGroup
	for _, name := range []string{"data", "admin"} {
		ln, err := set.Listen(context.Background(), name, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		serving.Go(func() { greet(ln, name) })
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	err = set.Close()
	serving.Wait()
	return err
}
