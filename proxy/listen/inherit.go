package listen

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

const (
	// firstInherited is the number of the first descriptor that systemd passes.
	firstInherited = 3
	// maxInherited bounds how many are believed.
	maxInherited = 64
	// unnamed is systemd's name for a descriptor without a name; such a
	// listener is matched by address alone.
	unnamed = "unknown"
	// duplicateMark separates a name from a counter when several sockets of
	// one unit share it.
	duplicateMark = "#"
)

// Inherited returns the listening sockets that the parent process passed in the
// manner of systemd socket activation (LISTEN_PID, LISTEN_FDS and
// LISTEN_FDNAMES), and removes these variables so that children do not see
// them. Without any it returns an empty map. Listeners that share a name get
// "#2", "#3" and so on appended; Set.Listen looks behind that.
func Inherited() (map[string]net.Listener, error) {
	names, err := inheritedNames(os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_FDNAMES"), os.Getpid())
	for _, key := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(key)
	}
	if err != nil {
		return nil, err
	}
	listeners := make(map[string]net.Listener, len(names))
	for i, name := range names {
		ln, err := listenerOf(uintptr(firstInherited+i), name)
		if err != nil {
			closeAll(listeners)
			return nil, fmt.Errorf("cannot use inherited descriptor %d (%q): %w", firstInherited+i, name, err)
		}
		listeners[name] = ln
	}
	return listeners, nil
}

// inheritedNames returns a unique name for each descriptor passed to process
// self.
func inheritedNames(pid, count, names string, self int) ([]string, error) {
	if pid == "" || count == "" || pid != strconv.Itoa(self) {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return nil, fmt.Errorf("cannot read LISTEN_FDS: %w", err)
	}
	if n < 0 || n > maxInherited {
		return nil, fmt.Errorf("cannot inherit %d descriptors, the limit is %d", n, maxInherited)
	}
	given := strings.Split(names, ":")
	if names == "" {
		given = nil
	}
	if given != nil && len(given) != n {
		return nil, fmt.Errorf("cannot match %d names in LISTEN_FDNAMES to %d descriptors", len(given), n)
	}
	unique := make([]string, n)
	seen := make(map[string]int, n)
	for i := range unique {
		name := unnamed
		if given != nil && given[i] != "" {
			name = given[i]
		}
		if strings.Contains(name, duplicateMark) {
			return nil, fmt.Errorf("cannot use the name %q in LISTEN_FDNAMES", name)
		}
		if seen[name]++; seen[name] > 1 {
			name += duplicateMark + strconv.Itoa(seen[name])
		}
		unique[i] = name
	}
	return unique, nil
}

// listenerOf turns a descriptor into a listener and closes the descriptor: the
// listener has a close-on-exec duplicate.
func listenerOf(fd uintptr, name string) (net.Listener, error) {
	file := os.NewFile(fd, name)
	if file == nil {
		return nil, errors.New("no such descriptor")
	}
	ln, err := net.FileListener(file)
	return ln, errors.Join(err, file.Close())
}

func closeAll(listeners map[string]net.Listener) {
	for _, ln := range listeners {
		_ = ln.Close()
	}
}
