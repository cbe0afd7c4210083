package storage_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"

	"github.com/rollmill/rollmill/storage"
)

// The defects of gocloud that this package works around. When one of these
// tests fails, the library has changed: check whether the work-around can be
// removed.

func fileBucket(t *testing.T, dir string, o *fileblob.Options) *blob.Bucket {
	t.Helper()
	b, err := fileblob.OpenBucket(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

var quiet = &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite}

// fileblob checks whether a key is free and renames later. If two writers both
// check before either renames, both succeed; here both are stopped in between.
func TestTrapFileblobCreatesTwice(t *testing.T) {
	b := fileBucket(t, t.TempDir(), quiet)
	// With 64 writers at once some pair overlaps in every few rounds.
	for range 200 {
		key := fmt.Sprint(time.Now().UnixNano())
		wins := make(chan bool, 64)
		start := make(chan struct{})
		for i := range cap(wins) {
			go func() {
				<-start
				err := b.WriteAll(t.Context(), key, fmt.Append(nil, i), &blob.WriterOptions{IfNotExist: true})
				wins <- err == nil
			}()
		}
		close(start)
		won := 0
		for range cap(wins) {
			if <-wins {
				won++
			}
		}
		if won > 1 {
			return // the trap is still there
		}
	}
	t.Error("fileblob's IfNotExist had one winner in 200 races of 64; is it atomic now?")
}

func TestTrapFileblobLeavesSidecars(t *testing.T) {
	for _, c := range []struct {
		o    *fileblob.Options
		want []string
	}{{&fileblob.Options{NoTempDir: true}, []string{"k", "k.attrs"}}, {quiet, []string{"k"}}} {
		dir := t.TempDir()
		if err := fileBucket(t, dir, c.o).WriteAll(t.Context(), "k", []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
		if got := files(t, dir); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("the folder holds %q, want %q", got, c.want)
		}
	}
}

func fileblobKeys(t *testing.T, b *blob.Bucket) (keys []string) {
	it := b.List(nil)
	for {
		o, err := it.Next(t.Context())
		if err != nil {
			return keys
		}
		keys = append(keys, o.Key)
	}
}

func TestTrapFileblobListsNothingBehindALink(t *testing.T) {
	link := linked(t)
	if err := os.WriteFile(filepath.Join(link, "k"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := fileblobKeys(t, fileBucket(t, link, quiet)); len(got) != 0 {
		t.Errorf("fileblob lists %q now", got)
	}
	listed := 0
	for range open(t, link).List(t.Context(), "") {
		listed++
	}
	if listed != 1 {
		t.Errorf("we list %d objects", listed)
	}
}

// The code of a refused create is FailedPrecondition, contrary to the doc
// comments, and memblob's create is atomic.
func TestTrapTheCodeOfARefusedCreate(t *testing.T) {
	for name, b := range map[string]*blob.Bucket{"mem": memblob.OpenBucket(nil), "file": fileBucket(t, t.TempDir(), quiet)} {
		o := &blob.WriterOptions{IfNotExist: true, ContentType: "application/octet-stream"}
		first := b.Upload(t.Context(), "k", strings.NewReader("1"), o)
		second := b.Upload(t.Context(), "k", strings.NewReader("2"), o)
		if first != nil || gcerrors.Code(second) != gcerrors.FailedPrecondition {
			t.Errorf("%s: %v, then %v (%v)", name, first, second, gcerrors.Code(second))
		}
	}
}

// fileblob silently renames some keys; ours refuses them.
func TestTrapFileblobRenamesKeys(t *testing.T) {
	dir := t.TempDir()
	b := fileBucket(t, dir, quiet)
	for _, key := range []string{"a__0x2f__b", "line\nend", "a//b"} {
		if err := b.WriteAll(t.Context(), key, nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, key)); err == nil {
			t.Errorf("fileblob keeps %q under its own name now", key)
		}
		if err := open(t, dir).Create(t.Context(), key, nil); err == nil || errors.Is(err, storage.ErrExist) {
			t.Errorf("we took %q: %v", key, err)
		}
	}
	if err := b.WriteAll(t.Context(), "x.attrs", nil, nil); err == nil {
		t.Error("fileblob takes .attrs keys now")
	}
}
