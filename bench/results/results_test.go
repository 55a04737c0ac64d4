package results

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestPublishReplacesItsSectionOnly(t *testing.T) {
	t.Parallel()
	const (
		ours  = Section("ours")
		other = Section("other")
	)
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	f := func(s Section, text, want string) {
		t.Helper()
		var printed bytes.Buffer
		if err := s.Publish(path, text, &printed); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want || printed.String() != text {
			t.Fatalf("got %q, printed %q (%v), want %q", got, printed.String(), err, want)
		}
	}
	const head = "# Measured results\n\n"
	block := func(s Section, text string) string { return s.begin() + "\n" + text + s.end() + "\n" }
	f(ours, "1\n", head+block(ours, "1\n"))
	f(ours, "2\n", head+block(ours, "2\n"))
	f(other, "3\n", head+block(ours, "2\n")+"\n"+block(other, "3\n"))
	f(ours, "4\n", head+block(ours, "4\n")+"\n"+block(other, "3\n"))

	if got := ours.Insert("before\n"+block(ours, "old\n")+"after\n", "new\n"); got != "before\n"+block(ours, "new\n")+"after\n" {
		t.Errorf("got %q", got)
	}
	if err := ours.Publish(filepath.Join(path, "nowhere"), "x", io.Discard); err == nil {
		t.Error("a file that cannot be written was taken")
	}
}

func TestWhatIsNotKnownIsSaid(t *testing.T) {
	t.Parallel()
	if got := procField(filepath.Join(t.TempDir(), "none"), "model name"); got != unknown {
		t.Errorf("got %q", got)
	}
}
