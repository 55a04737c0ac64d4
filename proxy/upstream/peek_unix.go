//go:build linux || darwin || freebsd

package upstream

import (
	"syscall"
	"unsafe"
)

// peekSocket asks the kernel what waits on an idle socket, without taking it.
// The raw system call is used because syscall.Recvfrom allocates a peer address
// that TCP never fills in.
func peekSocket(fd uintptr) socketState {
	var b [1]byte
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd,
			uintptr(unsafe.Pointer(&b[0])), 1, syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return socketClean
		case errno != 0 || n == 0:
			return socketClosed
		}
		return socketDirty
	}
}
