package conformance

import (
	"context"
	"errors"
	"strings"

	"github.com/rollmill/rollmill/storage"
)

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
