package listen

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNobody means that no process offers its sockets: this is a first start.
var ErrNobody = errors.New("listen: no process to take over from")

// The conversation of a handover, one packet each. The new process connects;
// the old one sends an offer with the descriptors; the new one says ready once
// it serves; the old one stops accepting and says released.
const (
	offerVersion = 1
	maxOffer     = 32 << 10
	wordReady    = "ready"
	wordReleased = "released"
)

// offer names the descriptors that come with it, in their order.
type offer struct {
	Version int      `json:"version"`
	Names   []string `json:"names"`
}

func encodeOffer(names []string) ([]byte, error) {
	if len(names) > maxInherited {
		return nil, fmt.Errorf("cannot hand over %d listeners, the limit is %d", len(names), maxInherited)
	}
	text, err := json.Marshal(offer{Version: offerVersion, Names: names})
	if err == nil && len(text) > maxOffer {
		err = errors.New("names are too long")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot encode offer: %w", err)
	}
	return text, nil
}

func decodeOffer(text []byte) ([]string, error) {
	var o offer
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("cannot decode offer: %w", err)
	}
	if o.Version != offerVersion {
		return nil, fmt.Errorf("cannot take over with protocol version %d, this is version %d", o.Version, offerVersion)
	}
	if len(o.Names) > maxInherited {
		return nil, fmt.Errorf("cannot take over %d listeners, the limit is %d", len(o.Names), maxInherited)
	}
	seen := make(map[string]bool, len(o.Names))
	for _, name := range o.Names {
		if name == "" || seen[name] {
			return nil, fmt.Errorf("cannot use listener name %q", name)
		}
		seen[name] = true
	}
	return o.Names, nil
}
