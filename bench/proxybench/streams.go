package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// eventStreams opens o.Conns streams, spread over one interval so that their
// events do not come in step, and reads them to the end.
func eventStreams(ctx context.Context, o order) yield {
	var t tally
	var all sync.WaitGroup
	req := request(o.Address, o.Prompt, true, o.Events, o.Every)
	gap := time.NewTicker(max(time.Duration(o.Every)*time.Millisecond/time.Duration(o.Conns), time.Microsecond))
	defer gap.Stop()
	for range o.Conns {
		<-gap.C
		all.Go(func() {
			s := newEventStream(o.Events)
			err := s.run(ctx, o.Address, req)
			y := yield{Events: s.events, Disorder: s.disorder}
			if err == nil {
				y.Done = 1
			}
			t.add(y, s.delays, s.first, err)
		})
	}
	all.Wait()
	return t.result()
}

// eventStream is one stream being read.
type eventStream struct {
	want     int
	events   int
	disorder int
	done     bool
	delays   []float64 // µs from the emitter's stamp to the read
	first    []float64 // µs from the request to the first event, one entry
	line     []byte    // unfinished
}

func newEventStream(want int) *eventStream {
	return &eventStream{want: want, delays: make([]float64, 0, want), line: make([]byte, 0, 512)}
}

var errIncomplete = errors.New("the stream is not complete")

func (s *eventStream) run(ctx context.Context, address string, req []byte) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	began := monotonic()
	if _, err := c.Write(req); err != nil {
		return err
	}
	r := bufio.NewReaderSize(c, 8<<10)
	body, err := readHead(r)
	if err != nil {
		return err
	}
	buf := make([]byte, 8<<10)
	for {
		n, err := body.Read(buf)
		s.feed(buf[:n], began, monotonic())
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if !s.done || s.events != s.want {
		return errIncomplete
	}
	return nil
}

func (s *eventStream) feed(b []byte, began, now int64) {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			s.line = append(s.line, b...)
			return
		}
		line := b[:i]
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		s.event(line, began, now)
		s.line = s.line[:0]
		b = b[i+1:]
	}
}

func (s *eventStream) event(line []byte, began, now int64) {
	if bytes.Equal(line, []byte("data: [DONE]")) {
		s.done = true
		return
	}
	_, content, ok := bytes.Cut(line, []byte(`"content":"`))
	if !ok || len(content) < seqDigits+1+stampDigits {
		return
	}
	seq, err1 := strconv.Atoi(string(content[:seqDigits]))
	stamp, err2 := strconv.ParseInt(string(content[seqDigits+1:seqDigits+1+stampDigits]), 10, 64)
	if err1 != nil || err2 != nil || seq != s.events {
		s.disorder++
	}
	if s.events == 0 {
		s.first = append(s.first, float64(now-began)/1e3)
	}
	s.events++
	s.delays = append(s.delays, float64(now-stamp)/1e3)
}

// openers is how many streams of an idle job are opened at once.
const openers = 64

// idleStreams opens o.Conns streams, waits for the first event of each, and
// holds them until ready returns.
func idleStreams(ctx context.Context, o order, ready func()) yield {
	var t tally
	var held []net.Conn
	var mu sync.Mutex // guards held
	var all sync.WaitGroup
	req := request(o.Address, o.Prompt, true, 1, holdOpen)
	turns := make(chan struct{}, o.Conns)
	for range o.Conns {
		turns <- struct{}{}
	}
	close(turns)
	for range openers {
		all.Go(func() {
			for range turns {
				c, err := openIdle(ctx, o.Address, req)
				y := yield{}
				if err == nil {
					y.Done = 1
					mu.Lock()
					held = append(held, c)
					mu.Unlock()
				}
				t.add(y, nil, nil, err)
			}
		})
	}
	all.Wait()
	ready()
	for _, c := range held {
		_ = c.Close()
	}
	return t.result()
}

// openIdle opens one stream and reads up to its first event.
func openIdle(ctx context.Context, address string, req []byte) (net.Conn, error) {
	c, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if _, err = c.Write(req); err == nil {
		var body io.Reader
		if body, err = readHead(bufio.NewReaderSize(c, 1<<10)); err == nil {
			_, err = io.ReadFull(body, make([]byte, len(eventHead)+seqDigits+1+stampDigits))
		}
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}
