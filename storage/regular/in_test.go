package regular_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage/regular"
)

// TestOpenIn: a link within a folder is followed, and one that leads out of it is not,
// whichever part of the name it is.
func TestOpenIn(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{dir + "/own", outside + "/secret"} {
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"near": "own", "far": outside + "/secret", "up": "../" + filepath.Base(outside) + "/secret", "folder": outside} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"own", "near"} {
		f, err := regular.OpenIn(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for _, name := range []string{"far", "up", "folder/secret"} {
		if _, err := regular.OpenIn(dir, name); !errors.Is(err, regular.ErrNot) || !strings.Contains(err.Error(), "a link out of its folder") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := regular.OpenIn(dir, "none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
