//go:build !linux

package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// ServeHandover is available on Linux only: it returns an error.
func (s *Set) ServeHandover(context.Context, string, func()) error {
	return fmt.Errorf("cannot serve handovers: %w", errors.ErrUnsupported)
}

// Handed reports whether the listeners have been taken over: never, here.
func (s *Set) Handed() bool { return s.handed }

// Handed stands for a takeover, which is available on Linux only.
type Handed struct{}

// Takeover returns ErrNobody: there is never a process that hands over here.
func Takeover(context.Context, string) (*Handed, error) { return nil, ErrNobody }

// Listeners returns nothing.
func (h *Handed) Listeners() map[string]net.Listener { return nil }

// Ready does nothing.
func (h *Handed) Ready() error { return nil }

// Close does nothing.
func (h *Handed) Close() error { return nil }
