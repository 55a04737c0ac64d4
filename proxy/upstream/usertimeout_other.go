//go:build !linux

package upstream

import "time"

// setUserTimeout has no portable form; TCP keep-alive is what remains.
func setUserTimeout(int, time.Duration) error { return nil }
