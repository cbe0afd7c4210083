package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/storage"
)

// On systems without unnamed files a draft is a hidden file and behaves the
// same.
func TestDraftsWithNames(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	draft := func(text string) *storage.Draft {
		d, err := storage.Named(b, dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := draft("one")
	for o := range b.List(t.Context(), "") {
		t.Errorf("%q is visible", o.Key)
	}
	if err := d.Create(t.Context(), "a/k"); err != nil {
		t.Fatal(err)
	}
	two := draft("two")
	if err := two.Create(t.Context(), "a/k"); !errors.Is(err, storage.ErrExist) {
		t.Errorf("creating what is there: %v", err)
	}
	if err := two.Create(t.Context(), "a/two"); err != nil {
		t.Errorf("the refused draft under another key: %v", err)
	}
	if err := draft("three").Replace(t.Context(), "a/k"); err != nil {
		t.Error(err)
	}
	if err := draft("four").Discard(); err != nil {
		t.Error(err)
	}
	if got, err := b.Read(t.Context(), "a/k"); err != nil || string(got) != "three" {
		t.Errorf("read %q, %v", got, err)
	}
	if got := files(t, dir); !slices.Equal(got, []string{"a", "a/k", "a/two"}) {
		t.Errorf("the folder holds %q", got)
	}
}

// Without hard links an exclusive rename does the same.
func TestRenameNewNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.WriteFile(a, []byte("a"), 0o644), os.WriteFile(b, []byte("b"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := storage.RenameNew(a, b); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("not on this system")
	} else if !errors.Is(err, os.ErrExist) {
		t.Errorf("renaming onto a file: %v", err)
	}
	if err := errors.Join(os.Remove(b), storage.RenameNew(a, b)); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(b); err != nil || string(got) != "a" {
		t.Errorf("read %q, %v", got, err)
	}
}
