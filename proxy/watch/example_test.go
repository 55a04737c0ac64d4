package watch_test

import (
	"context"
	"fmt"
	"net"

	"penstock/proxy/watch"
)

type request struct{ cancel context.CancelFunc }

func (r *request) ClientGone() { r.cancel() }

func ExampleNew() {
	w, err := watch.New(watch.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	accepted, err := ln.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	server := w.Wrap(accepted)
	defer server.Close()

	// In the handler: arm for the request, disarm at its end.
	work, cancel := context.WithCancel(context.Background())
	server.Arm(&request{cancel})
	_ = client.Close()
	<-work.Done()
	server.Disarm()
	fmt.Println("gone:", server.Gone())

	stop()
	fmt.Println(<-ended)
	// Output:
	// gone: true
	// <nil>
}
