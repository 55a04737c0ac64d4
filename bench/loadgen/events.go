package loadgen

import "bytes"

// maxEvent bounds one server-sent event.
const maxEvent = 4 << 20

// events splits a stream of server-sent events. The zero value is ready; reset
// it between answers.
type events struct {
	rest []byte // an unfinished line
	data []byte // data lines of an unfinished event
	open bool   // data holds a line, maybe an empty one
}

func (e *events) reset() { e.rest, e.data, e.open = e.rest[:0], e.data[:0], false }

// pending reports whether the stream stopped inside an event.
func (e *events) pending() bool { return len(e.rest) > 0 || e.open }

// feed calls each with the data of every event that b completes.
func (e *events) feed(b []byte, each func(data []byte) error) error {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			e.rest = append(e.rest, b...)
			if len(e.rest) > maxEvent {
				return fail(WrongContent, "event too long")
			}
			return nil
		}
		line := b[:i]
		if len(e.rest) > 0 {
			e.rest = append(e.rest, line...)
			line = e.rest
		}
		b = b[i+1:]
		err := e.line(bytes.TrimSuffix(line, []byte{'\r'}), each)
		e.rest = e.rest[:0]
		if err != nil {
			return err
		}
	}
}

func (e *events) line(line []byte, each func(data []byte) error) error {
	if len(line) == 0 {
		if !e.open {
			return nil
		}
		e.open = false
		err := each(e.data)
		e.data = e.data[:0]
		return err
	}
	value, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return nil // comment, id, event, retry
	}
	value = bytes.TrimPrefix(value, []byte{' '})
	if e.open {
		e.data = append(e.data, '\n')
	}
	e.open = true
	e.data = append(e.data, value...)
	if len(e.data) > maxEvent {
		return fail(WrongContent, "event too long")
	}
	return nil
}
