package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
)

// A store that ignores versions is found out before anything is written, and
// nothing is replaced there.
func TestNothingIsReplacedWhereTheStoreIgnoresVersions(t *testing.T) {
	for name, f := range map[string]s3test.Faults{"versions": {IgnoreVersions: true}, "conditions": {IgnoreConditions: true}} {
		s := s3test.Start(t)
		s.SetFaults(f)
		storage.SetSettling(t, time.Millisecond)
		b := open(t, s.URI("swaps"))
		if err := b.Replaces(t.Context()); !errors.Is(err, storage.ErrUnguarded) || !strings.Contains(err.Error(), "If-Match") {
			t.Errorf("%s: %v", name, err)
		}
		if err := b.Create(t.Context(), "k", []byte("old")); err != nil {
			t.Fatal(err)
		}
		if err := b.Swap(t.Context(), "k", []byte("old"), []byte("new")); !errors.Is(err, storage.ErrUnguarded) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := b.Read(t.Context(), "k"); err != nil || string(got) != "old" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, b := range map[string]*storage.Bucket{"s3": open(t, s3test.Start(t).URI("x")), "disk": open(t, t.TempDir()), "mem": open(t, "mem://"+t.Name())} {
		if err := b.Replaces(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A write between the comparison and the swap is never overwritten, whatever
// the size of the object: larger ones are sent in parts.
func TestASwapNeverOverwritesAnotherWriter(t *testing.T) {
	s := s3test.Start(t)
	for _, size := range []int{3, 17 << 20} {
		b := open(t, s.URI(fmt.Sprint("between/", size)))
		old, other := bytes.Repeat([]byte("o"), size), bytes.Repeat([]byte("x"), size)
		if err := b.Create(t.Context(), "k", old); err != nil {
			t.Fatal(err)
		}
		compared := b.WithMeter(func(op, key string, _, _ int64) {
			if op != "read" || key != "k" || other == nil {
				return
			}
			data := other
			other = nil
			if err := b.Write(t.Context(), "k", data); err != nil {
				t.Error(err)
			}
		})
		if err := compared.Swap(t.Context(), "k", old, bytes.Repeat([]byte("n"), size)); !errors.Is(err, storage.ErrChanged) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if got, err := b.Read(t.Context(), "k"); err != nil || len(got) != size || got[0] != 'x' || got[size-1] != 'x' {
			t.Errorf("%d bytes: the other writer's object is gone: %v", size, err)
		}
	}
	if n := s.Uploads(); n > 0 {
		t.Errorf("%d multipart uploads were left behind", n)
	}
}

// The response of the request that completes an object in parts may be lost: the
// store no longer knows the upload when the request is repeated.
func TestACompletionWhoseAnswerIsLost(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URI("completed"))
	if err := b.Create(t.Context(), "first", nil); err != nil { // the store is tested
		t.Fatal(err)
	}
	old, next := bytes.Repeat([]byte("o"), 17<<20), bytes.Repeat([]byte("n"), 17<<20)
	for _, step := range []func() error{
		func() error { return b.Create(t.Context(), "k", old) },
		func() error { return b.Swap(t.Context(), "k", old, next) },
		func() error { return b.Write(t.Context(), "k", old) },
	} {
		before := s.Failed()
		s.SetFaults(s3test.Faults{LostCompletions: 1})
		if err := step(); err != nil {
			t.Error(err)
		}
		if s.Failed() != before+1 {
			t.Errorf("%d responses were lost", s.Failed()-before)
		}
	}
}

// A swap whose response was lost has happened.
func TestSwapWhoseAnswerIsLost(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URI("lost"))
	for i := range 20 {
		key := fmt.Sprint("k", i)
		if err := b.Create(t.Context(), key, []byte("old")); err != nil {
			t.Fatal(err)
		}
		s.SetFaults(s3test.Faults{Seed: int64(i), Lost: 0.3})
		err := b.Swap(t.Context(), key, []byte("old"), []byte("new"))
		s.SetFaults(s3test.Faults{})
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
	s3 := open(t, s3test.Start(t).URI("bounded"))
	if err := s3.Write(t.Context(), "k", make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if _, err := s3.ReadLimited(t.Context(), "k", 99); err == nil || !strings.Contains(err.Error(), "at most 99 are read") {
		t.Error(err)
	}
	if data, err := s3.ReadLimited(t.Context(), "k", 100); err != nil || len(data) != 100 {
		t.Error(len(data), err)
	}
}
