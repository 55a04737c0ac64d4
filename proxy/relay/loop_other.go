//go:build !linux

package relay

// osState is what a loop keeps per stream; there are no loops here.
type osState struct{}

type loop struct{}

func startLoops(*Relay) ([]*loop, error) { return nil, nil }

func onLoop(*Stream) bool { return false }

func (*Stream) takeDescriptors() error { return nil }

func (*loop) start(*Stream) {}

func (*loop) close() {}
