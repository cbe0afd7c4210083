package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/storage"
)

// Names that users choose, and ids, are stored unchanged. A store that has to
// encode a character may list such keys in the order of the encoding.
func oddKeys(t T, b *storage.Bucket) {
	odd := []string{".hidden/.x", "a b", "a%20b", "a+b=c&d", "a:b", "a?b#c", "a\\b", "name@0", "quote\"'", "star*[x]",
		"..dots..", "~", "ünïcödé/日本", "__0", strings.Repeat("long", 60)}
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
	listed := keys(t, b, "")
	slices.Sort(listed)
	if !slices.Equal(listed, odd) {
		t.Errorf("listed %q, want %q", listed, odd)
	}
	for _, k := range odd {
		must(t, b.Delete(t.Context(), k))
	}
	wantKeys(t, b, "")
}

// No key reaches outside the bucket, with any operation.
func keysOut(t T, b *storage.Bucket) {
	for _, k := range []string{"", "/", "/etc/passwd", "../out", "a/../../out", "a/..", ".", "./a", "a//b", "a/", "nul\x00",
		"line\nend", "\xff", "x.attrs", "a__0x2f__b", ".tmp-1", "a/.tmp-x/b"} {
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

// Listing is in key order, by bytes, and returns the keys that begin with the
// prefix, whether or not it ends in a slash, also when there are more than a
// thousand.
func listing(t T, b *storage.Bucket) {
	wantKeys(t, b, "")
	for _, k := range []string{"é", "b", "ab/c", "a0", "a/b/c", "a.b", "a-b"} {
		must(t, b.Write(t.Context(), k, []byte(k)))
	}
	wantKeys(t, b, "", "a-b", "a.b", "a/b/c", "a0", "ab/c", "b", "é")
	wantKeys(t, b, "a", "a-b", "a.b", "a/b/c", "a0", "ab/c")
	wantKeys(t, b, "a/", "a/b/c")
	wantLevel(t, b, "", "a-b", "a.b", "a/", "a0", "ab/", "b", "é")
	wantLevel(t, b, "a/", "a/b/")
	wantLevel(t, b, "a/b/", "a/b/c")
	wantLevel(t, b, "none/")
	wantKeys(t, b, "a/b", "a/b/c")
	wantKeys(t, b, "nothing")
	wantKeys(t, b, "nothing/at/all/")
	wantKeys(t, b, "../")
	for o, err := range b.List(t.Context(), "") {
		must(t, err)
		if o.Size != int64(len(o.Key)) || o.ModTime.IsZero() {
			t.Errorf("listed %+v", o)
		}
		break // stopping early is not an error
	}
	if _, local := b.Local(); local {
		return // files are not listed by the page, and syncing each takes its time
	}
	many := make([]string, 1200)
	var g errgroup.Group
	g.SetLimit(24)
	for i := range many {
		many[i] = fmt.Sprintf("many/%04d", i)
		g.Go(func() error { return b.Write(t.Context(), many[i], nil) })
	}
	must(t, g.Wait())
	wantKeys(t, b, "many/", many...)
}

// wantLevel compares what lies directly in a folder, in any order.
func wantLevel(t T, b *storage.Bucket, folder string, want ...string) {
	t.Helper()
	var got []string
	for o, err := range b.Level(t.Context(), folder) {
		must(t, err)
		got = append(got, o.Key)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("directly in %q lie %q, want %q", folder, got, want)
	}
}
