package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestParseHead(t *testing.T) {
	t.Parallel()
	f := func(name, in string, status int, length int64, keepAlive bool, fields string) {
		t.Helper()
		var h Head
		n, err := parseHead([]byte(in), &h)
		if err != nil || n != len(in) {
			t.Fatalf("%s: n=%d err=%v", name, n, err)
		}
		var names []string
		for _, f := range h.Fields {
			names = append(names, string(f.Name)+"="+string(f.Value))
		}
		got := strings.Join(names, ";")
		if h.Status != status || h.Length != length || h.KeepAlive != keepAlive || got != fields {
			t.Fatalf("%s: got %d %d %v %q", name, h.Status, h.Length, h.KeepAlive, got)
		}
	}
	f("uvicorn", "HTTP/1.1 200 OK\r\ndate: x\r\nserver: uvicorn\r\ncontent-length: 3\r\ncontent-type: application/json\r\n\r\n",
		200, 3, true, "date=x;server=uvicorn")
	f("chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, LengthChunked, true, "")
	f("close delimited is never kept", "HTTP/1.1 200 OK\r\n\r\n", 200, LengthClose, false, "")
	f("http 1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 200, 0, false, "")
	f("http 1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", 200, 0, true, "")
	f("no reason phrase", "HTTP/1.1 204\r\n\r\n", 204, 0, true, "")
	f("nominated fields are dropped", "HTTP/1.1 200 OK\r\nX-Hop: 1\r\nConnection: close, x-hop\r\nContent-Length: 1\r\nX-End: 2\r\n\r\n",
		200, 1, false, "X-End=2")
	f("hop by hop fields are dropped", "HTTP/1.1 200 OK\r\nTE: x\r\nUpgrade: y\r\nTrailer: z\r\nContent-Length: 1\r\n\r\n", 200, 1, true, "")
	f("equal lengths twice", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n", 200, 4, true, "")
}

func TestParseHeadRefuses(t *testing.T) {
	t.Parallel()
	f := func(in string, want error) {
		t.Helper()
		var h Head
		if _, err := parseHead([]byte(in), &h); !errors.Is(err, want) {
			t.Fatalf("%q: got %v, want %v", in, err, want)
		}
	}
	f("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", ErrBadFraming)
	f("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", ErrBadFraming)
	f("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", ErrBadFraming)
	f("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", ErrBadFraming)
	f("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ErrBadFraming)
	f("HTTP/2.0 200 OK\r\n\r\n", ErrMalformedHead)
	f("HTTP/1.1 20 OK\r\n\r\n", ErrMalformedHead)
	f("HTTP/1.1 200 OK\r\nbad name: 1\r\n\r\n", ErrMalformedHead)
	f("HTTP/1.1 200 OK\r\n folded\r\n\r\n", ErrMalformedHead)
	f("HTTP/1.1 200 OK\r\na: b\nc: d\r\n\r\n", ErrMalformedHead)
	f("HTTP/1.1 200 OK\r\nx: \x00\r\n\r\n", ErrMalformedHead)
	f("HTTP/1.1 200 OK\r\n"+strings.Repeat("a: b\r\n", maxHeadFields+1)+"\r\n", ErrMalformedHead)
	f(strings.Repeat("a", maxHeadBytes+1), ErrHeadTooLarge)
}

func TestParseHeadDoesNotAllocate(t *testing.T) {
	in := []byte("HTTP/1.1 200 OK\r\ndate: x\r\nserver: uvicorn\r\ncontent-length: 3\r\ncontent-type: application/json\r\n\r\n")
	var h Head
	if n := testing.AllocsPerRun(100, func() { _, _ = parseHead(in, &h) }); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}

// FuzzParseHead: whatever we accept, net/http accepts too and frames the same.
func FuzzParseHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var h Head
		n, err := parseHead(in, &h)
		if err != nil || n == 0 || h.Status < 200 {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(in[:n])), nil)
		if err != nil {
			// net/http also refuses what we never act on, such as a bad Trailer field.
			t.Skip()
		}
		_ = resp.Body.Close()
		if resp.StatusCode != h.Status {
			t.Fatalf("status %d, net/http says %d", h.Status, resp.StatusCode)
		}
		chunked := len(resp.TransferEncoding) > 0
		if chunked != (h.Length == LengthChunked) && h.Status != 204 && h.Status != 304 {
			t.Fatalf("chunked %v, net/http says %v", h.Length, chunked)
		}
		if h.Length > 0 && resp.ContentLength != h.Length {
			t.Fatalf("length %d, net/http says %d", h.Length, resp.ContentLength)
		}
	})
}

// decodeAll feeds in in pieces of the given size.
func decodeAll(d *Decoder, in []byte, piece int) (payload []byte, rest int, err error) {
	for len(in) > 0 {
		n := min(piece, len(in))
		buf := append([]byte(nil), in[:n]...)
		p, used, err := d.Decode(buf)
		payload = append(payload, buf[:p]...)
		if err != nil {
			return payload, len(in), err
		}
		in = in[used:]
		if d.Done() {
			return payload, len(in), nil
		}
		if used < n {
			return payload, len(in), errors.New("stopped early")
		}
	}
	return payload, 0, d.End()
}

func TestDecoderReadsChunksHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	in := "5\r\nhello\r\nA;ext=\"v\"\r\n0123456789\r\n1 \r\n!\r\n0\r\nX: y\r\n\r\nextra"
	for piece := 1; piece <= len(in); piece++ {
		var d Decoder
		d.Reset(LengthChunked)
		got, rest, err := decodeAll(&d, []byte(in), piece)
		if err != nil || string(got) != "hello0123456789!" || rest != len("extra") {
			t.Fatalf("piece %d: %q rest %d err %v", piece, got, rest, err)
		}
	}
}

func TestDecoderRefusesBrokenChunks(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"x\r\n", "\r\n", "5\nhello\r\n", "5\r\nhelloX", "5\r\nhello\rX", "-1\r\n", "0x5\r\n",
		"123456789\r\n", "5;a\nhello", "5\rhello",
	} {
		var d Decoder
		d.Reset(LengthChunked)
		if _, _, err := decodeAll(&d, []byte(in), len(in)); !errors.Is(err, ErrBadChunk) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestDecoderTellsACutFromAnEnd(t *testing.T) {
	t.Parallel()
	f := func(length int64, in string, want error) {
		t.Helper()
		var d Decoder
		d.Reset(length)
		if _, _, err := decodeAll(&d, []byte(in), 3); !errors.Is(err, want) {
			t.Fatalf("length %d %q: %v", length, in, err)
		}
	}
	f(LengthChunked, "5\r\nhel", io.ErrUnexpectedEOF)
	f(LengthChunked, "5\r\nhello\r\n", io.ErrUnexpectedEOF)
	f(LengthChunked, "5\r\nhello\r\n0\r\n", io.ErrUnexpectedEOF)
	f(10, "hello", io.ErrUnexpectedEOF)
	f(5, "hello", nil)
	f(LengthClose, "hello", nil)
}

// FuzzDecoder: cuts do not matter, and an encoded body comes back whole.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("hello world"), uint8(3), uint8(2))
	f.Add([]byte("data: x\n\n"), uint8(1), uint8(7))
	f.Fuzz(func(t *testing.T, body []byte, chunk, piece uint8) {
		var enc []byte
		for rest := body; len(rest) > 0; {
			n := min(int(chunk)%64+1, len(rest))
			enc = strconv.AppendInt(enc, int64(n), 16)
			enc = append(append(append(enc, "\r\n"...), rest[:n]...), "\r\n"...)
			rest = rest[n:]
		}
		enc = append(enc, "0\r\n\r\n"...)
		var d Decoder
		d.Reset(LengthChunked)
		got, rest, err := decodeAll(&d, enc, int(piece)%32+1)
		if err != nil || rest != 0 || !bytes.Equal(got, body) {
			t.Fatalf("got %q rest %d err %v", got, rest, err)
		}
		var raw Decoder // any bytes: no panic, the same verdict at every cut
		raw.Reset(LengthChunked)
		whole, _, werr := decodeAll(&raw, body, len(body)+1)
		raw.Reset(LengthChunked)
		cut, _, cerr := decodeAll(&raw, body, 1)
		if !bytes.Equal(whole, cut) || (werr == nil) != (cerr == nil) {
			t.Fatalf("whole %q %v, cut %q %v", whole, werr, cut, cerr)
		}
	})
}
