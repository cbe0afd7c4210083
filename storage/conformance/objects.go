package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/rollmill/rollmill/storage"
)

// Empty objects are objects, and Stat returns their size.
func written(t T, b *storage.Bucket) {
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

func replacing(t T, b *storage.Bucket) {
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

// A draft is invisible to others, and leaves nothing behind.
func drafts(t T, b *storage.Bucket) {
	d, err := b.Draft(t.Context())
	must(t, err)
	for _, part := range []string{"one ", "two ", "three"} {
		_, err := io.WriteString(d, part)
		must(t, err)
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
	must(t, d.Create(t.Context(), "named/second")) // a refused draft is unchanged
	must(t, d.Discard())
	if got, err := b.Read(t.Context(), "named/second"); err != nil || string(got) != "loser" {
		t.Errorf("read %q, %v", got, err)
	}
}

// A Reader fulfils the contract of io.ReaderAt, also past the end.
func ranges(t T, b *storage.Bucket) {
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
	}{{0, 10, "0123456789", nil}, {3, 4, "3456", nil}, {8, 2, "89", nil}, {8, 5, "89", io.EOF}, {10, 1, "", io.EOF},
		{99, 1, "", io.EOF}, {5, 0, "", nil}} {
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

// Objects too large for one request are complete, and created only once.
func bigObjects(t T, b *storage.Bucket) {
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
	if err := b.Create(t.Context(), "big", data); !errors.Is(err, storage.ErrExist) {
		t.Errorf("creating what is there: %v", err)
	}
	in, err := b.Open(t.Context(), "big")
	must(t, err)
	defer in.Close()
	got, err := io.ReadAll(io.NewSectionReader(in, 0, in.Size()))
	must(t, err)
	if !bytes.Equal(got, data) {
		t.Error("the bytes differ")
	}
}

func deleting(t T, b *storage.Bucket) {
	for _, k := range []string{"a/b/c", "a/d", "e"} {
		must(t, b.Create(t.Context(), k, []byte("x")))
	}
	must(t, b.Delete(t.Context(), "a/b/c"))
	must(t, b.Delete(t.Context(), "a/b/c"))
	must(t, b.Delete(t.Context(), "a/b")) // no such object: nothing to do
	must(t, b.Delete(t.Context(), "a"))   // a folder with an object in it is not an object either
	wantKeys(t, b, "", "a/d", "e")
	must(t, b.Create(t.Context(), "a/b/c", []byte("again")))
	must(t, b.Delete(t.Context(), "a/d"))
	must(t, b.Delete(t.Context(), "e"))
	wantKeys(t, b, "", "a/b/c")
}

// Errors have kinds and name the step and the place.
func kinds(t T, b *storage.Bucket) {
	ctx := t.Context()
	missing := func(when, key string) {
		_, read := b.Read(ctx, key)
		_, stat := b.Stat(ctx, key)
		_, open := b.Open(ctx, key)
		for op, err := range map[string]error{"read": read, "stat": stat, "open": open} {
			if !errors.Is(err, storage.ErrNotExist) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s, %s: %v", when, op, err)
			}
		}
		must(t, b.Delete(ctx, key))
	}
	missing("before anything is written", "dir/no")
	must(t, b.Create(ctx, "dir/yes", nil))
	missing("beside an object", "dir/no")
	missing("a folder", "dir")
	err := b.Create(ctx, "dir/yes", nil)
	if !errors.Is(err, storage.ErrExist) || !strings.Contains(err.Error(), storage.Join(b.URI(), "dir/yes")) {
		t.Errorf("creating what is there: %v", err)
	}
}

// A cancelled context stops every operation and publishes nothing.
func cancelled(t T, b *storage.Bucket) {
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
		"create": b.Create(ctx, "new", nil), "write": b.Write(ctx, "k", nil), "delete": b.Delete(ctx, "k"),
		"replace": d.Replace(ctx, "k")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", op, err)
		}
	}
	wantKeys(t, b, "", "k")
	if got, err := b.Read(t.Context(), "k"); err != nil || string(got) != "old" {
		t.Errorf("read %q, %v", got, err)
	}
}
