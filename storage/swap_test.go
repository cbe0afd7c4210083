package storage_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/conformance"
	"github.com/rollmill/rollmill/storage/fakes3"
)

// In a store that creates exclusively and ignores versions, Swap uses claims.
func TestSwapWhereTheStoreIgnoresVersions(t *testing.T) {
	s := fakes3.Start(t)
	s.SetFaults(fakes3.Faults{IgnoreVersions: true})
	for i, c := range conformance.All {
		if strings.Contains(c.Name, "swap") {
			t.Run(c.Name, func(t *testing.T) { c.Test(t, open(t, s.URI(fmt.Sprintf("swaps/%d", i)))) })
		}
	}
}

// A swap whose response was lost has happened.
func TestSwapWhoseAnswerIsLost(t *testing.T) {
	s := fakes3.Start(t)
	b := open(t, s.URI("lost"))
	for i := range 20 {
		key := fmt.Sprint("k", i)
		if err := b.Create(t.Context(), key, []byte("old")); err != nil {
			t.Fatal(err)
		}
		s.SetFaults(fakes3.Faults{Seed: int64(i), Lost: 0.3})
		err := b.Swap(t.Context(), key, []byte("old"), []byte("new"))
		s.SetFaults(fakes3.Faults{})
		if err != nil && !errors.Is(err, storage.ErrTemporary) {
			t.Errorf("%s: %v", key, err)
		}
		if got, _ := b.Read(t.Context(), key); err == nil && string(got) != "new" {
			t.Errorf("%s is %q", key, got)
		}
	}
}

// Swap waits for another process's lock, but not for ever.
func TestSwapWaitsForTheFolderAndGivesUp(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	if err := b.Create(t.Context(), "k", []byte("old")); err != nil {
		t.Fatal(err)
	}
	unlock := storage.LockFolder(t, dir)
	storage.SetLockWait(t, 50*time.Millisecond)
	if err := b.Swap(t.Context(), "k", []byte("old"), []byte("new")); !errors.Is(err, storage.ErrTemporary) {
		t.Errorf("a locked folder: %v", err)
	}
	unlock()
	if err := b.Swap(t.Context(), "k", []byte("old"), []byte("new")); err != nil {
		t.Error(err)
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("the folder holds %q", left)
	}
}

// A network file system may make the link and lose the response; the repeated
// call gets an error because the name exists.
func TestCreateWhoseLinkWasMadeBefore(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	d, err := storage.Named(b, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write([]byte("ours")); err != nil {
		t.Fatal(err)
	}
	drafts, _ := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	if len(drafts) != 1 {
		t.Fatal(drafts)
	}
	if err := os.Link(drafts[0], filepath.Join(dir, "k")); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(t.Context(), "k"); err != nil {
		t.Errorf("creating what is ourselves: %v", err)
	}
	if got, err := b.Read(t.Context(), "k"); err != nil || string(got) != "ours" {
		t.Errorf("%q, %v", got, err)
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("the folder holds %q", left)
	}
}

// An object that is too large to be read whole is an error that says so, before
// memory is allocated for it.
func TestReadIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "k"), 3<<30); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	if _, err := b.Read(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "has 3221225472 bytes, and at most 67108864 are read") {
		t.Error(err)
	}
	s3 := open(t, fakes3.Start(t).URI("bounded"))
	if err := s3.Write(t.Context(), "k", make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if _, err := s3.ReadMost(t.Context(), "k", 99); err == nil || !strings.Contains(err.Error(), "at most 99 are read") {
		t.Error(err)
	}
	if data, err := s3.ReadMost(t.Context(), "k", 100); err != nil || len(data) != 100 {
		t.Error(len(data), err)
	}
}
