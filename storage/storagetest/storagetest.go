// Package storagetest is what every kind of bucket has to do: the meaning of
// storage.Bucket. A new scheme passes Run before it is used.
//
// To add a promise: add a function to the list in Run, and say in its comment
// what users of a bucket rely on.
package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/storage"
)

// Run holds buckets that open makes, each empty, against every promise.
func Run(t *testing.T, open func(t *testing.T) *storage.Bucket) {
	for _, promise := range []struct {
		name string
		test func(*testing.T, *storage.Bucket)
	}{
		{"what is written is read", written},
		{"replacing", replacing},
		{"one winner", oneWinner},
		{"drafts are invisible", drafts},
		{"replaced whole", replacedWhole},
		{"listing", listing},
		{"ranges", ranges},
		{"odd keys", oddKeys},
		{"keys that lead out", keysOut},
		{"big objects", bigObjects},
		{"kinds of errors", kinds},
		{"cancelled", cancelled},
		{"deleting", deleting},
		{"create and delete race", createAndDelete},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.test(t, open(t)) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func keys(t *testing.T, b *storage.Bucket, prefix string) []string {
	t.Helper()
	var out []string
	for o, err := range b.List(t.Context(), prefix) {
		must(t, err)
		out = append(out, o.Key)
	}
	return out
}

func wantKeys(t *testing.T, b *storage.Bucket, prefix string, want ...string) {
	t.Helper()
	if got := keys(t, b, prefix); !slices.Equal(got, want) {
		t.Errorf("listing %q: %q, want %q", prefix, got, want)
	}
}

// Empty objects are objects, and Stat tells their size.
func written(t *testing.T, b *storage.Bucket) {
	for key, text := range map[string]string{"a": "one", "dir/b": "", "dir/sub/c": strings.Repeat("x", 100_000)} {
		must(t, b.Create(t.Context(), key, []byte(text)))
		got, err := b.Read(t.Context(), key)
		must(t, err)
		if string(got) != text {
			t.Errorf("%s: read %d bytes, wrote %d", key, len(got), len(text))
		}
		o, err := b.Stat(t.Context(), key)
		must(t, err)
		if o.Key != key || o.Size != int64(len(text)) || o.ModTime.IsZero() {
			t.Errorf("%s: %+v", key, o)
		}
	}
}

func replacing(t *testing.T, b *storage.Bucket) {
	must(t, b.Write(t.Context(), "a", []byte("a long first version")))
	must(t, b.Write(t.Context(), "a", []byte("second")))
	got, err := b.Read(t.Context(), "a")
	must(t, err)
	if string(got) != "second" {
		t.Errorf("read %q", got)
	}
	if err := b.Create(t.Context(), "a", []byte("third")); !errors.Is(err, storage.ErrExist) {
		t.Errorf("creating what is there: %v", err)
	}
	if got, _ := b.Read(t.Context(), "a"); string(got) != "second" {
		t.Errorf("a refused creator changed the object to %q", got)
	}
	wantKeys(t, b, "", "a")
}

// Of any number of racing creators exactly one succeeds; its bytes are the
// object, and all others are told that it exists.
func oneWinner(t *testing.T, b *storage.Bucket) {
	const racers = 24
	for round := range 8 {
		key := fmt.Sprintf("race/%d", round)
		errs := race(racers, func(i int) error { return b.Create(t.Context(), key, fmt.Appendf(nil, "racer %d", i)) })
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner < 0:
				winner = i
			case err == nil:
				t.Errorf("round %d: racers %d and %d both won", round, winner, i)
			case !errors.Is(err, storage.ErrExist):
				t.Errorf("round %d: racer %d lost with %v", round, i, err)
			}
		}
		got, err := b.Read(t.Context(), key)
		if want := fmt.Sprintf("racer %d", winner); err != nil || string(got) != want {
			t.Errorf("round %d: the object is %q, %v; want %q", round, got, err, want)
		}
	}
}

// race calls f from n goroutines at once.
func race(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// A draft is seen by nobody, read back by its owner, and leaves nothing.
func drafts(t *testing.T, b *storage.Bucket) {
	d, err := b.Draft(t.Context())
	must(t, err)
	for _, part := range []string{"one ", "two ", "three"} {
		_, err := io.WriteString(d, part)
		must(t, err)
	}
	back := make([]byte, 3)
	if _, err := d.ReadAt(back, 4); err != nil || string(back) != "two" {
		t.Errorf("read back %q, %v", back, err)
	}
	wantKeys(t, b, "")
	must(t, d.Create(t.Context(), "named/late"))
	wantKeys(t, b, "", "named/late")
	must(t, d.Discard())
	if err := d.Create(t.Context(), "again"); err == nil {
		t.Error("a draft was created twice")
	}

	d, err = b.Draft(t.Context())
	must(t, err)
	_, err = io.WriteString(d, "never")
	must(t, err)
	must(t, d.Discard())
	must(t, d.Discard())
	if err := d.Replace(t.Context(), "named/late"); err == nil {
		t.Error("a discarded draft was published")
	}
	if _, err := d.Write([]byte("x")); err == nil {
		t.Error("a discarded draft was written to")
	}

	d, err = b.Draft(t.Context())
	must(t, err)
	_, err = io.WriteString(d, "loser")
	must(t, err)
	if err := d.Create(t.Context(), "named/late"); !errors.Is(err, storage.ErrExist) {
		t.Errorf("creating what is there: %v", err)
	}
	wantKeys(t, b, "", "named/late")
	if got, err := b.Read(t.Context(), "named/late"); err != nil || string(got) != "one two three" {
		t.Errorf("read %q, %v", got, err)
	}
}

// Whoever reads while others replace sees one version, whole.
func replacedWhole(t *testing.T, b *storage.Bucket) {
	version := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 50_000+i) }
	must(t, b.Write(t.Context(), "k", version(0)))
	errs := race(8, func(i int) error {
		for range 20 {
			if i < 4 {
				if err := b.Write(t.Context(), "k", version(i)); err != nil {
					return err
				}
				continue
			}
			got, err := b.Read(t.Context(), "k")
			if err != nil {
				return err
			}
			if len(got) == 0 || !bytes.Equal(got, version(int(got[0]-'a'))) {
				return fmt.Errorf("read a mixture of %d bytes", len(got))
			}
		}
		return nil
	})
	must(t, errors.Join(errs...))
	wantKeys(t, b, "", "k")
}

// Listing is in key order, by bytes, of keys that begin with the prefix,
// whether or not it ends in a slash, and goes on past a thousand keys.
func listing(t *testing.T, b *storage.Bucket) {
	wantKeys(t, b, "")
	all := []string{"a", "a-b", "a.b", "a/b", "a/b/c", "a0", "ab/c", "b", "é"}
	all = slices.DeleteFunc(all, func(k string) bool { return k == "a" || k == "a/b" }) // a file cannot also be a folder
	for _, k := range []string{"é", "b", "ab/c", "a0", "a/b/c", "a.b", "a-b"} {
		must(t, b.Write(t.Context(), k, []byte(k)))
	}
	wantKeys(t, b, "", all...)
	wantKeys(t, b, "a", "a-b", "a.b", "a/b/c", "a0", "ab/c")
	wantKeys(t, b, "a/", "a/b/c")
	wantKeys(t, b, "a/b", "a/b/c")
	wantKeys(t, b, "nothing")
	wantKeys(t, b, "nothing/at/all/")
	wantKeys(t, b, "../")
	for o, err := range b.List(t.Context(), "") {
		must(t, err)
		if o.Size != int64(len(o.Key)) || o.ModTime.IsZero() {
			t.Errorf("listed %+v", o)
		}
		break // stopping early is no error
	}
	if _, local := b.Local(); local {
		return // files are not listed by the page, and syncing each takes its time
	}
	var many []string
	for i := range 1200 {
		many = append(many, fmt.Sprintf("many/%04d", i))
		must(t, b.Write(t.Context(), many[i], nil))
	}
	wantKeys(t, b, "many/", many...)
}

// A Reader keeps io.ReaderAt's contract, also past the end.
func ranges(t *testing.T, b *storage.Bucket) {
	must(t, b.Create(t.Context(), "k", []byte("0123456789")))
	r, err := b.Open(t.Context(), "k")
	must(t, err)
	defer r.Close()
	if r.Size() != 10 {
		t.Errorf("size %d", r.Size())
	}
	for _, c := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{{0, 10, "0123456789", nil}, {3, 4, "3456", nil}, {8, 2, "89", nil}, {8, 5, "89", io.EOF}, {10, 1, "", io.EOF}, {99, 1, "", io.EOF}, {5, 0, "", nil}} {
		p := make([]byte, c.n)
		n, err := r.ReadAt(p, c.off)
		if string(p[:n]) != c.want || err != c.err {
			t.Errorf("%d bytes at %d: %q, %v; want %q, %v", c.n, c.off, p[:n], err, c.want, c.err)
		}
	}
	if _, err := r.ReadAt(make([]byte, 1), -1); err == nil || err == io.EOF {
		t.Errorf("a negative offset: %v", err)
	}
	must(t, errors.Join(race(16, func(i int) error {
		p := make([]byte, 1)
		if _, err := r.ReadAt(p, int64(i%10)); err != nil || p[0] != byte('0'+i%10) {
			return fmt.Errorf("byte %d is %q, %v", i%10, p, err)
		}
		return nil
	})...))
}

// Names that people and ids come up with are kept as they are.
func oddKeys(t *testing.T, b *storage.Bucket) {
	odd := []string{".hidden/.x", "a b", "a%20b", "a+b=c&d", "a:b", "a?b#c", "a\\b", "name@0", "quote\"'", "star*[x]", "..dots..", "~", "ünïcödé/日本", "__0", strings.Repeat("long", 60)}
	for _, k := range odd {
		must(t, b.Create(t.Context(), k, []byte(k)))
	}
	for _, k := range odd {
		got, err := b.Read(t.Context(), k)
		if err != nil || string(got) != k {
			t.Errorf("%q: read %q, %v", k, got, err)
		}
		r, err := b.Open(t.Context(), k)
		if err != nil {
			t.Errorf("%q: %v", k, err)
			continue
		}
		if r.Size() != int64(len(k)) {
			t.Errorf("%q: size %d", k, r.Size())
		}
		must(t, r.Close())
	}
	slices.Sort(odd)
	wantKeys(t, b, "", odd...)
	for _, k := range odd {
		must(t, b.Delete(t.Context(), k))
	}
	wantKeys(t, b, "")
}

// No key leads out of the bucket, by any operation.
func keysOut(t *testing.T, b *storage.Bucket) {
	for _, k := range []string{"", "/", "/etc/passwd", "../out", "a/../../out", "a/..", ".", "./a", "a//b", "a/", "nul\x00", "line\nend", "\xff", "x.attrs", "a__0x2f__b", ".tmp-1", "a/.tmp-x/b"} {
		ctx := t.Context()
		_, read := b.Read(ctx, k)
		_, stat := b.Stat(ctx, k)
		_, open := b.Open(ctx, k)
		for op, err := range map[string]error{"create": b.Create(ctx, k, []byte("x")), "write": b.Write(ctx, k, []byte("x")),
			"read": read, "stat": stat, "open": open, "delete": b.Delete(ctx, k)} {
			if err == nil || errors.Is(err, storage.ErrNotExist) || errors.Is(err, storage.ErrExist) {
				t.Errorf("%s %q: %v; want a refusal", op, k, err)
			}
		}
		d, err := b.Draft(ctx)
		must(t, err)
		if err := d.Create(ctx, k); err == nil {
			t.Errorf("a draft became %q", k)
		}
	}
	wantKeys(t, b, "")
}

func bigObjects(t *testing.T, b *storage.Bucket) {
	const size = 24 << 20
	data := make([]byte, size)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	d, err := b.Draft(t.Context())
	must(t, err)
	_, err = io.Copy(struct{ io.Writer }{d}, bytes.NewReader(data))
	must(t, err)
	must(t, d.Create(t.Context(), "big"))
	in, err := b.Open(t.Context(), "big")
	must(t, err)
	defer in.Close()
	got, err := io.ReadAll(io.NewSectionReader(in, 0, in.Size()))
	must(t, err)
	if !bytes.Equal(got, data) {
		t.Error("the bytes differ")
	}
}

// Errors have kinds and name the step and the place.
func kinds(t *testing.T, b *storage.Bucket) {
	ctx := t.Context()
	missing := func(when string) {
		_, read := b.Read(ctx, "dir/no")
		_, stat := b.Stat(ctx, "dir/no")
		_, open := b.Open(ctx, "dir/no")
		for op, err := range map[string]error{"read": read, "stat": stat, "open": open} {
			if !errors.Is(err, storage.ErrNotExist) || !strings.Contains(err.Error(), "dir/no") {
				t.Errorf("%s, %s: %v", when, op, err)
			}
		}
		must(t, b.Delete(ctx, "dir/no"))
	}
	missing("before anything is written")
	must(t, b.Create(ctx, "dir/yes", nil))
	missing("beside an object")
	for _, folder := range []string{"dir"} {
		_, read := b.Read(ctx, folder)
		_, stat := b.Stat(ctx, folder)
		_, open := b.Open(ctx, folder)
		for op, err := range map[string]error{"read": read, "stat": stat, "open": open} {
			if !errors.Is(err, storage.ErrNotExist) {
				t.Errorf("%s of a folder: %v", op, err)
			}
		}
	}
	err := b.Create(ctx, "dir/yes", nil)
	if !errors.Is(err, storage.ErrExist) || !strings.Contains(err.Error(), storage.Join(b.URI(), "dir/yes")) {
		t.Errorf("creating what is there: %v", err)
	}
}

// A cancelled context stops every operation and publishes nothing.
func cancelled(t *testing.T, b *storage.Bucket) {
	must(t, b.Create(t.Context(), "k", []byte("old")))
	d, err := b.Draft(t.Context())
	must(t, err)
	_, err = d.Write([]byte("new"))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := b.Open(ctx, "k")
	must(t, err)
	cancel()
	_, draft := b.Draft(ctx)
	_, read := b.Read(ctx, "k")
	_, stat := b.Stat(ctx, "k")
	_, open := b.Open(ctx, "k")
	_, at := r.ReadAt(make([]byte, 1), 0)
	var list error
	for _, err := range b.List(ctx, "") {
		list = err
	}
	for op, err := range map[string]error{"draft": draft, "read": read, "stat": stat, "open": open, "range": at, "list": list,
		"create": b.Create(ctx, "new", nil), "write": b.Write(ctx, "k", nil), "delete": b.Delete(ctx, "k"), "replace": d.Replace(ctx, "k")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", op, err)
		}
	}
	wantKeys(t, b, "", "k")
	if got, err := b.Read(t.Context(), "k"); err != nil || string(got) != "old" {
		t.Errorf("read %q, %v", got, err)
	}
}

func deleting(t *testing.T, b *storage.Bucket) {
	for _, k := range []string{"a/b/c", "a/d", "e"} {
		must(t, b.Create(t.Context(), k, []byte("x")))
	}
	must(t, b.Delete(t.Context(), "a/b/c"))
	must(t, b.Delete(t.Context(), "a/b/c"))
	must(t, b.Delete(t.Context(), "a/b")) // no object: nothing to do
	must(t, b.Delete(t.Context(), "a"))   // a folder with an object in it is no object either
	wantKeys(t, b, "", "a/d", "e")
	must(t, b.Create(t.Context(), "a/b/c", []byte("again")))
	must(t, b.Delete(t.Context(), "a/d"))
	must(t, b.Delete(t.Context(), "e"))
	wantKeys(t, b, "", "a/b/c")
}

// One who deletes the last object of a folder does not get in the way of one
// who is about to create another there.
func createAndDelete(t *testing.T, b *storage.Bucket) {
	errs := race(6, func(i int) error {
		for n := range 60 {
			key := fmt.Sprintf("shared/folder/%d", i)
			if err := b.Create(t.Context(), key, []byte("x")); err != nil {
				return fmt.Errorf("round %d: %w", n, err)
			}
			if err := b.Delete(t.Context(), key); err != nil {
				return fmt.Errorf("round %d: %w", n, err)
			}
		}
		return nil
	})
	must(t, errors.Join(errs...))
	wantKeys(t, b, "")
}
