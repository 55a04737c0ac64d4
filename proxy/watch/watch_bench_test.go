package watch

import "testing"

// The cost that the watch adds to a request: find the Conn, arm, disarm.
func BenchmarkRequest(b *testing.B) {
	w := startWatcher(b, Options{})
	_, c := pair(b, w)
	gone := newCanceler()

	b.Run("arm and disarm", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Arm(gone)
			c.Disarm()
		}
	})
	b.Run("with lookup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			found, _ := FromConn(c)
			found.Arm(gone)
			found.Disarm()
		}
	})
	// The alternative that the epoll replaces, for scale.
	b.Run("background read", func(b *testing.B) {
		client, server := connect(b, listen(b))
		defer client.Close()
		defer server.Close()
		r := &reader{conn: server}
		b.ReportAllocs()
		for b.Loop() {
			r.start(func(error) {})
			r.stop()
		}
	})
}

// The cost per connection: accept side registration and removal, with the
// socket itself as baseline.
func BenchmarkConnection(b *testing.B) {
	w := startWatcher(b, Options{})
	f := func(name string, serve func(b *testing.B)) { b.Run(name, serve) }
	f("bare", func(b *testing.B) {
		ln := listen(b)
		for b.Loop() {
			client, server := connect(b, ln)
			_ = server.Close()
			_ = client.Close()
		}
	})
	f("watched", func(b *testing.B) {
		ln := listen(b)
		for b.Loop() {
			client, server := connect(b, ln)
			_ = w.Wrap(server).Close()
			_ = client.Close()
		}
	})
}
