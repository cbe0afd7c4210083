package faulty

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

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

// outcomes creates 200 objects and returns which ones failed.
func outcomes(t *testing.T, o Options) []bool {
	f := New(o)
	b := f.Wrap(open(t))
	var out []bool
	for i := range 200 {
		err := b.Create(t.Context(), fmt.Sprint(i), nil)
		if err != nil && !errors.Is(err, storage.ErrTemporary) {
			t.Fatal(err)
		}
		out = append(out, err != nil)
	}
	failed := 0
	for _, x := range out {
		if x {
			failed++
		}
	}
	if failed != f.Failed() {
		t.Errorf("%d failed, but %d faults were injected", failed, f.Failed())
	}
	return out
}

func TestTheSeedDecidesWhatFails(t *testing.T) {
	o := Options{Seed: 1, Rate: 0.3, Ops: []string{"publish"}}
	first := outcomes(t, o)
	n := 0
	for _, failed := range first {
		if failed {
			n++
		}
	}
	if n < 40 || n > 80 {
		t.Errorf("%d of 200 failed, want about 60", n)
	}
	if !slices.Equal(first, outcomes(t, o)) {
		t.Error("the same seed failed others")
	}
	o.Seed = 2
	if slices.Equal(first, outcomes(t, o)) {
		t.Error("another seed failed the same")
	}
	o.After = 200
	if slices.Contains(outcomes(t, o), true) {
		t.Error("one of the first operations failed")
	}
}

func TestALostAnswerLeavesTheObject(t *testing.T) {
	plain := open(t)
	b := New(Options{Rate: 1, Ops: []string{"published"}, Err: io.ErrUnexpectedEOF}).Wrap(plain)
	if err := b.Create(t.Context(), "k", []byte("x")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	if got, err := plain.Read(t.Context(), "k"); err != nil || string(got) != "x" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestAFailedPublishLeavesNothing(t *testing.T) {
	plain := open(t)
	b := New(Options{Rate: 1, Ops: []string{"publish"}}).Wrap(plain)
	if err := b.Write(t.Context(), "k", []byte("x")); !errors.Is(err, storage.ErrTemporary) {
		t.Errorf("got %v", err)
	}
	for o := range plain.List(t.Context(), "") {
		t.Errorf("%q is there", o.Key)
	}
}

func TestWithoutFaultsItIsABucket(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) *storage.Bucket {
		return New(Options{Latency: time.Microsecond}).Wrap(open(t))
	})
}
