package scratch

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSweep: the folder of a process that has ended is removed by the next, that of one
// that lives is not.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	dead, err := Make(dir)
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // as the system does when the process is killed
	lives, err := Make(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, prefix+"link")); err != nil {
		t.Fatal(err)
	}
	last, err := Make(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead.Path); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
	if _, err := os.Stat(lives.Path); err != nil {
		t.Error(err)
	}
	for _, f := range []*Folder{lives, last} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}
