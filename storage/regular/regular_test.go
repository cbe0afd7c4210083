package regular

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenFile: what is no regular file is neither read nor written, and not waited for; a
// link to a regular file is one.
func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	socket, err := net.Listen("unix", at("socket"))
	if err := errors.Join(err, syscall.Mkfifo(at("pipe"), 0o666), os.Symlink("pipe", at("link")), os.Symlink("file", at("fine")),
		os.WriteFile(at("file"), []byte("text"), 0o666)); err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for name, what := range map[string]string{at("pipe"): "a pipe", at("link"): "a pipe", at("socket"): "a socket", dir: "a folder",
		"/dev/zero": "a device", "/dev/null": "a device", "/proc/self/status": "a file of the kernel"} {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY | os.O_APPEND} {
			f, err := OpenFile(name, flag, 0)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, ErrNot) || !strings.HasSuffix(err.Error(), what+", not a regular file") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range []string{at("file"), at("fine")} {
		if data, err := ReadFile(name, 4); err != nil || string(data) != "text" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, err := ReadFile(at("file"), 3); err == nil {
		t.Error("longer than the limit")
	}
	if _, err := Open(at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Root(at("pipe")); err == nil {
		t.Error("a pipe is no folder")
	}
}

// TestDigestEnds with its context, in a file of a terabyte.
func TestDigestEnds(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sparse")
	if f, err := os.Create(name); err != nil || errors.Join(f.Truncate(1<<40), f.Close()) != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Digest(ctx, name); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
