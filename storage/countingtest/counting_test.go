package countingtest

import (
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/storagetest"
)

func open(t *testing.T) *storage.Bucket {
	b, err := storage.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCountsOperationsAndBytes(t *testing.T) {
	var c Counter
	b := c.Wrap(open(t))
	ctx := t.Context()
	if err := b.Create(ctx, "k", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	r, err := b.Open(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.ReadAt(make([]byte, 2), 1); err != nil {
		t.Fatal(err)
	}
	for range b.List(ctx, "") {
	}
	if c.Ops("list") != 1 || c.Of("read", "k") != 1 || c.Of("publish", "k") != 1 || c.Ops("range") != 1 || c.Read() != 7 || c.Written() != 5 {
		t.Error(c.String())
	}
	if got := c.Spans("k"); len(got) != 1 || got[0] != (Span{1, 3}) {
		t.Errorf("spans %v", got)
	}
	if got, want := c.String(), "draft 1, list 1, open 1, publish 1, range 1, read 1, write 1, read 7 B, wrote 5 B"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c.Reset()
	if c.Ops("list") != 0 || c.Read() != 0 {
		t.Error(c.String())
	}
}

func TestACountedBucketIsABucket(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) *storage.Bucket { return new(Counter).Wrap(open(t)) })
}

// In a wrapping context every bucket is counted, whatever code opens it.
func TestCountsWhatAContextOpens(t *testing.T) {
	var inner, outer Counter
	ctx := storage.Wrapping(storage.Wrapping(t.Context(), inner.Wrap), outer.Wrap)
	b, err := storage.Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Create(ctx, "k", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	if inner.Written() != 5 || outer.Written() != 5 {
		t.Errorf("inner %s, outer %s", &inner, &outer)
	}
}
