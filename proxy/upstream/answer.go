package upstream

import (
	"errors"
	"io"
	"net"
)

// BodyComplete reports whether the whole answer has been read.
func (c *Call) BodyComplete() bool { return c.body.Done() }

// Next returns the next piece of the body, valid until the following call.
// io.EOF, which may come with a last piece, means a complete message.
func (c *Call) Next() ([]byte, error) {
	cn := c.conn
	for {
		if c.body.Done() {
			return nil, io.EOF
		}
		if cn.w == cn.r {
			cn.r, cn.w = cn.base, cn.base
			if err := cn.fill(); err != nil {
				if errors.Is(err, io.EOF) {
					err = c.body.End()
					if err == nil {
						return nil, io.EOF
					}
				}
				return nil, c.fail(PhaseBody, cn.reused, err)
			}
		}
		from := cn.r
		n, used, err := c.body.Decode(cn.unread())
		cn.r += used
		if err != nil {
			return nil, c.fail(PhaseBody, cn.reused, err)
		}
		if n == 0 {
			continue
		}
		if c.body.Done() {
			err = io.EOF
		}
		return (*cn.buf)[from : from+n], err
	}
}

// Finish ends the exchange: the connection is kept when the answer was read to
// its end and the engine keeps it too, else closed. It is idempotent. It
// reports whether the engine sent bytes beyond its answer.
func (c *Call) Finish() (surplus bool) {
	cn := c.release()
	if cn == nil {
		return false
	}
	surplus = c.body.Done() && cn.w > cn.r
	if surplus {
		c.target.surplus.Add(1)
		cn.close()
		c.target.distrust()
		return true
	}
	if !c.body.Done() || !c.Response.KeepAlive || c.Cancelled() {
		cn.close()
		return false
	}
	c.target.putIdle(cn, c.now())
	return false
}

// Detached is a connection whose answer somebody else reads on.
type Detached struct {
	Conn      net.Conn
	Body      Decoder
	Unread    []byte // bytes of the body already received, framing included; a copy
	KeepAlive bool
	target    *Target
}

// Detach hands the rest of the answer to another reader. The call is over: a
// Cancel that comes later does nothing. ok is false when the call was cancelled
// before; the connection is closed then.
func (c *Call) Detach() (d Detached, ok bool) {
	c.mu.Lock()
	cn, cancelled := c.conn, c.cancelled
	c.conn, c.live = nil, nil
	c.mu.Unlock()
	if cancelled {
		cn.close()
		return Detached{}, false
	}
	d = Detached{
		Conn: cn.nc, Body: c.body, KeepAlive: c.Response.KeepAlive,
		target: c.target,
	}
	if u := cn.unread(); len(u) > 0 {
		d.Unread = append([]byte(nil), u...)
	}
	cn.dropBuffer()
	return d, true
}

// Return gives a detached connection back after its answer was read to the
// end with nothing left over; nc may be another net.Conn on the same socket.
func (d *Detached) Return(nc net.Conn) {
	if !d.KeepAlive {
		_ = nc.Close()
		return
	}
	c := newConn(nc)
	c.reused = true
	d.target.putIdle(c, d.target.cfg.Now())
}

// Surplus records that a detached connection carried bytes beyond its answer
// and drops the idle connections of the replica with it.
func (d *Detached) Surplus() {
	d.target.surplus.Add(1)
	d.target.distrust()
}
