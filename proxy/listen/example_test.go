package listen_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"penstock/proxy/listen"
)

// The order of a start that may be a restart: sockets that were given come
// first, and the predecessor is told once this process serves.
func Example() {
	ctx := context.Background()
	set := listen.NewSet(listen.SetOptions{})
	defer set.Close()

	inherited, err := listen.Inherited()
	if err != nil {
		fmt.Println(err)
		return
	}
	set.Adopt(inherited)
	handed, err := listen.Takeover(ctx, "/nonexistent/handover.sock")
	switch {
	case errors.Is(err, listen.ErrNobody):
		fmt.Println("first start")
	case err != nil:
		fmt.Println(err)
		return
	default:
		defer handed.Close()
		set.Adopt(handed.Listeners())
	}

	socket, err := set.Listen(ctx, "data", "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	set.CloseUnused()
	data, err := listen.New(socket, listen.Options{MaxConnsPerIP: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer data.Close()
	// ... serve data, then:
	if handed != nil {
		if err := handed.Ready(); err != nil {
			fmt.Println(err)
			return
		}
	}
	// A later process takes over through set.ServeHandover.
	set.Stop()
	_, err = data.Accept()
	fmt.Println(errors.Is(err, net.ErrClosed))
	// Output:
	// first start
	// true
}
