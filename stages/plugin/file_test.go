package plugin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReadFileEnds reads what a mistaken path may name.
func TestReadFileEnds(t *testing.T) {
	pipe, silent := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "silent")
	if err := exec.Command("mkfifo", pipe, silent).Run(); err != nil {
		t.Fatal(err)
	}
	if data, err := readFile(t.Context(), silent, maxFile, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "a pipe that nothing writes to") {
		t.Errorf("a pipe that nobody writes: %q, %v", data, err)
	}
	if data, err := ReadFile(t.Context(), "/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero: more than 16 MiB") {
		t.Errorf("/dev/zero: %d bytes, %v", len(data), err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("text"), 0) }()
	if data, err := ReadFile(t.Context(), pipe); err != nil || string(data) != "text" {
		t.Errorf("a pipe: %q, %v", data, err)
	}
	if _, err := ReadFile(t.Context(), filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
}
