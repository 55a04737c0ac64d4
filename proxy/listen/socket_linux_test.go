package listen

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAcceptedSocketIsTuned(t *testing.T) {
	t.Parallel()
	f := func(name string, options Options, want map[[2]int]int) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options.MaxConns = 1
			l := limited(t, bind(t), options)
			dial(t, l.Addr())
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			raw, err := c.(syscall.Conn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			for option, value := range want {
				err := raw.Control(func(fd uintptr) {
					got, err := unix.GetsockoptInt(int(fd), option[0], option[1])
					if err != nil || got != value {
						t.Errorf("option %v is %d, %v; want %d", option, got, err, value)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	f("by default", Options{}, map[[2]int]int{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY}:      1,
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE}:      1,
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}:     15,
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}:    5,
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT}:      3,
		{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT}: 20000,
	})
	f("as configured", Options{KeepAlive: 9 * time.Second, UserTimeout: 1500 * time.Millisecond}, map[[2]int]int{
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}:     9,
		{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT}: 1500,
	})
	f("off", Options{KeepAlive: -1, UserTimeout: -1}, map[[2]int]int{
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE}:      0,
		{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT}: 0,
	})
}

func TestBudgetLeavesAReserve(t *testing.T) {
	t.Parallel()
	f := func(limit uint64, want int) {
		t.Helper()
		if got := budget(limit); got != want {
			t.Errorf("limit %d: got %d, want %d", limit, got, want)
		}
	}
	f(0, 2)
	f(66, 2)
	f(256, 192)
	f(1000, 900)
	f(1<<16, 1<<16-1024)
	f(unix.RLIM_INFINITY, 1<<20-1024)
	if FDBudget() < 2 {
		t.Errorf("the budget of this process is %d", FDBudget())
	}
}
