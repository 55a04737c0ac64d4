package framing

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestStrictReaderEndsWhereTheConnectionEnds(t *testing.T) {
	t.Parallel()
	f := func(name, input string, want int, wantErr error) {
		t.Helper()
		got, err := ReadAll(strings.ReplaceAll(input, "\n", "\r\n"))
		if len(got) != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: %d requests, error %v; want %d, %v", name, len(got), err, want, wantErr)
		}
	}
	f("nothing", "", 0, nil)
	f("empty lines alone", "\n\n", 0, nil)
	f("one", "GET / HTTP/1.1\nHost: a\n\n", 1, nil)
	f("two", "GET / HTTP/1.1\nHost: a\n\nGET / HTTP/1.1\nHost: a\n\n", 2, nil)
	f("after close", "GET / HTTP/1.1\nHost: a\nConnection: x, Close\n\nGET / HTTP/1.1\nHost: a\n\n", 1, nil)
	f("after 1.0", "GET / HTTP/1.0\n\nGET / HTTP/1.0\n\n", 1, nil)
	f("after 1.0 keep-alive", "GET / HTTP/1.0\nConnection: keep-alive\n\nGET / HTTP/1.0\n\n", 2, nil)
	f("cut line", "GET / HT", 0, io.ErrUnexpectedEOF)
	f("cut head", "GET / HTTP/1.1\nHost: a\n", 0, io.ErrUnexpectedEOF)
	f("cut body", "GET / HTTP/1.1\nHost: a\nContent-Length: 3\n\nab", 0, io.ErrUnexpectedEOF)
	f("second one malformed", "GET / HTTP/1.1\nHost: a\n\nGET / HTTP/1.1\n\n", 1, ErrMalformed)
}
