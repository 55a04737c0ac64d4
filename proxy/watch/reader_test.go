package watch

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func TestReaderKeepsTheByteItTook(t *testing.T) {
	t.Parallel()
	client, server := connect(t, listen(t))
	defer client.Close()
	defer server.Close()
	r := &reader{conn: server}
	r.start(func(err error) { t.Errorf("the stream ended: %v", err) })
	if _, err := client.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	done := r.done
	r.mu.Unlock()
	<-done
	r.stop()
	got := make([]byte, 3)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "abc" {
		t.Errorf("read %q, %v; want %q", got, err, "abc")
	}
}

func TestReaderReportsTheEnd(t *testing.T) {
	t.Parallel()
	client, server := connect(t, listen(t))
	defer server.Close()
	r := &reader{conn: server}
	ended := make(chan error, 2)
	onEnd := func(err error) { ended <- err }
	r.start(onEnd)
	_ = client.Close()
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v, want io.EOF", err)
	}
	r.stop()
	r.start(onEnd)
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("the second start reported %v, want io.EOF", err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("Read returned %v, want io.EOF", err)
	}
}

func TestReaderStopRestoresTheDeadline(t *testing.T) {
	t.Parallel()
	client, server := connect(t, listen(t))
	defer client.Close()
	defer server.Close()
	r := &reader{conn: server}
	r.start(func(err error) { t.Errorf("the stream ended: %v", err) })
	// A deadline that has passed must not end the background read, and must
	// end the next foreground one.
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read returned %v, want a missed deadline", err)
	}
}
