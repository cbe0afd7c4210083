package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage"
)

func TestReadAtMostRefusesWhatIsLargerBeforeReadingIt(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<40), f.Close()); err != nil { // sparse
		t.Skip(err)
	}
	for _, uri := range []string{dir, "mem://bounded"} {
		b, err := storage.Open(t.Context(), uri)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Create(t.Context(), "small", []byte("four")); err != nil {
			t.Fatal(err)
		}
		if data, err := b.ReadAtMost(t.Context(), "small", 4); err != nil || string(data) != "four" {
			t.Errorf("%q, %v", data, err)
		}
		if _, err := b.ReadAtMost(t.Context(), "small", 3); err == nil || !strings.Contains(err.Error(), "at most 3") {
			t.Error(err)
		}
		if _, err := b.ReadAtMost(t.Context(), "none", 3); !errors.Is(err, storage.ErrNotExist) {
			t.Error(err)
		}
	}
	b, _ := storage.Open(t.Context(), dir)
	if _, err := b.ReadAtMost(t.Context(), "large", 1<<20); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Error(err)
	}
}
