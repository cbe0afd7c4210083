package storage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/storagetest"
)

func open(t *testing.T, uri string) *storage.Bucket {
	t.Helper()
	b, err := storage.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// files returns all files in a folder, hidden or not.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if path != dir {
			out = append(out, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBucketConformance(t *testing.T) {
	count := 0
	for name, uri := range map[string]func(*testing.T) string{
		"path":      func(t *testing.T) string { return filepath.Join(t.TempDir(), "not", "made", "yet") },
		"file":      func(t *testing.T) string { return "file://" + t.TempDir() + "/with%20blank/" },
		"mem":       func(t *testing.T) string { count++; return fmt.Sprintf("mem://suite-%d", count) },
		"mem below": func(t *testing.T) string { count++; return fmt.Sprintf("mem://suite-%d/a/b/", count) },
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) *storage.Bucket { return open(t, uri(t)) })
		})
	}
}

// linked is a symbolic link to a folder.
func linked(t *testing.T) string {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	return link
}

func TestMemoryIsSharedByName(t *testing.T) {
	a, b := open(t, "mem://shared/x"), open(t, "mem://shared")
	if err := a.Write(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Read(t.Context(), "x/k"); err != nil || string(got) != "v" {
		t.Errorf("read %q, %v", got, err)
	}
	for o := range open(t, "mem://other").List(t.Context(), "") {
		t.Errorf("another name holds %q", o.Key)
	}
}

// A local bucket leaves its objects, readable by others, and no other files.
func TestALocalFolderHoldsNothingElse(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	for _, key := range []string{"a/b", "c"} {
		if err := errors.Join(b.Create(t.Context(), key, []byte("1")), b.Write(t.Context(), key, []byte("2"))); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := files(t, dir), []string{"a", "a/b", "c"}; !slices.Equal(got, want) {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
	info, err := os.Stat(filepath.Join(dir, "c"))
	if err != nil || info.Mode().Perm()&0o444 != 0o444 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := errors.Join(b.Delete(t.Context(), "a/b"), b.Delete(t.Context(), "c")); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("the folder still holds %q", got)
	}
}

func TestReadingMakesNoFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	b := open(t, dir)
	_, err := b.Read(t.Context(), "k")
	if !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for _, err := range b.List(t.Context(), "") {
		t.Errorf("listed something: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

func TestWhatIsMissingIsSaidOnce(t *testing.T) {
	b := open(t, t.TempDir())
	if _, err := b.Read(t.Context(), "k"); !errors.Is(err, storage.ErrNotExist) || !strings.HasSuffix(err.Error(), `k": does not exist`) {
		t.Errorf("reading: %v", err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	err := open(t, "/proc/no").Create(t.Context(), "k", []byte("v")) // also root makes no folder there
	if err == nil || !strings.Contains(hintOf(err), "no folder can be made there") || !strings.Contains(err.Error(), "/proc/no") {
		t.Errorf("writing: %v\nhint: %s", err, hintOf(err))
	}
}

func TestUnreadableFolderIsAnError(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	b := open(t, dir)
	if err := b.Create(t.Context(), "closed/k", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "closed"), 0o755)
	var last error
	for _, err := range b.List(t.Context(), "") {
		last = err
	}
	if !errors.Is(last, storage.ErrDenied) {
		t.Errorf("listing a closed folder: %v", last)
	}
	if _, err := b.Read(t.Context(), "closed/k"); !errors.Is(err, storage.ErrDenied) {
		t.Errorf("reading there: %v", err)
	}
	if err := b.Create(t.Context(), "closed/new", nil); !errors.Is(err, storage.ErrDenied) {
		t.Errorf("creating there: %v", err)
	}
}

func TestFileIsNotAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b := open(t, file)
	if err := b.Create(t.Context(), "k", nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("creating under a file: %v", err)
	}
	if _, err := b.Read(t.Context(), "k"); err == nil || errors.Is(err, storage.ErrTemporary) {
		t.Errorf("read under a file: %v", err)
	}
}

func TestFullDeviceIsNamed(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	b := open(t, t.TempDir())
	d, err := b.Draft(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Discard()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	storage.SwapFile(d, full)
	_, err = d.Write([]byte("x"))
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), b.URI()) || strings.Contains(err.Error(), "/dev/full") ||
		errors.Is(err, storage.ErrTemporary) {
		t.Errorf("got %v", err)
	}
}

func TestHooksAndMetersAddUp(t *testing.T) {
	var order []string
	note := func(name string) storage.Hook {
		return func(op, key string) error { order = append(order, name+" "+op+" "+key); return nil }
	}
	var read, again int64
	b := open(t, "mem://hooks").WithHook(note("inner")).WithHook(note("outer")).
		WithMeter(func(_, _ string, _, n int64) { read += n }).WithMeter(func(_, _ string, _, n int64) { again += n })
	if err := b.Write(t.Context(), "k", []byte("abc")); err != nil {
		t.Fatal(err)
	}
	want := []string{"outer draft ", "inner draft ", "outer write ", "inner write ", "outer publish k", "inner publish k", "outer published k",
		"inner published k"}
	if !slices.Equal(order, want) || read != 3 || again != 3 {
		t.Errorf("%q, %d and %d bytes", order, read, again)
	}
	deny := errors.New("no")
	b = b.WithHook(func(string, string) error { return deny })
	order = nil
	if _, err := b.Read(t.Context(), "k"); !errors.Is(err, deny) || len(order) != 0 || !strings.Contains(err.Error(), "mem://hooks/k") {
		t.Errorf("%v, %q", err, order)
	}
}
