package storage

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestNoFileBeside: nothing beside an object is read when it is described, whatever it is.
func TestNoFileBeside(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Create(t.Context(), "a", []byte("12")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "a.attrs"), 0o666); err != nil {
		t.Fatal(err)
	}
	if o, err := b.Stat(t.Context(), "a"); err != nil || o.Size != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}
