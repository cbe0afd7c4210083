package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/rollmill/rollmill/storage"
)

// Exactly one of any number of concurrent creators succeeds; the object has its
// bytes, and all others get ErrExist.
func oneWinner(t T, b *storage.Bucket) {
	const racers = 24
	for round := range 8 {
		key := fmt.Sprintf("race/%d", round)
		errs := race(racers, func(i int) error { return b.Create(t.Context(), key, fmt.Appendf(nil, "racer %d", i)) })
		winner := onlyWinner(t, round, errs, storage.ErrExist)
		got, err := b.Read(t.Context(), key)
		if want := fmt.Sprintf("racer %d", winner); err != nil || string(got) != want {
			t.Errorf("round %d: the object is %q, %v; want %q", round, got, err, want)
		}
	}
}

// A swap replaces exactly the content that it names, and no other.
func swapping(t T, b *storage.Bucket) {
	ctx := t.Context()
	if err := b.Swap(ctx, "dir/k", []byte("one"), []byte("two")); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("swapping what is not there: %v", err)
	}
	must(t, b.Create(ctx, "dir/k", []byte("one")))
	if err := b.Swap(ctx, "dir/k", []byte("two"), []byte("three")); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("swapping another content: %v", err)
	}
	must(t, b.Swap(ctx, "dir/k", []byte("one"), []byte("two")))
	if err := b.Swap(ctx, "dir/k", []byte("one"), []byte("three")); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("swapping what was swapped: %v", err)
	}
	if got, err := b.Read(ctx, "dir/k"); err != nil || string(got) != "two" {
		t.Errorf("the object is %q, %v", got, err)
	}
}

// Exactly one of any number of concurrent swaps of one content succeeds; the
// object has its bytes, and all others get ErrChanged.
func oneSwap(t T, b *storage.Bucket) {
	const racers = 12
	before := []byte("at first")
	must(t, b.Create(t.Context(), "k", before))
	for round := range 4 {
		errs := race(racers, func(i int) error {
			return b.Swap(t.Context(), "k", before, fmt.Appendf(nil, "round %d, racer %d", round, i))
		})
		winner := onlyWinner(t, round, errs, storage.ErrChanged)
		got, err := b.Read(t.Context(), "k")
		if want := fmt.Sprintf("round %d, racer %d", round, winner); err != nil || string(got) != want {
			t.Errorf("round %d: the object is %q, %v; want %q", round, got, err, want)
		}
		before = got
	}
}

// An object may be given a content that it had before, and be swapped again.
func contentReturns(t T, b *storage.Bucket) {
	ctx := t.Context()
	must(t, b.Create(ctx, "k", []byte("x")))
	for i, s := range []struct{ old, next string }{{"x", "y"}, {"y", "x"}, {"x", "z"}, {"z", "x"}, {"x", "y"}} {
		must(t, b.Swap(ctx, "k", []byte(s.old), []byte(s.next)))
		if got, err := b.Read(ctx, "k"); err != nil || string(got) != s.next {
			t.Errorf("swap %d: the object is %q, %v; want %q", i, got, err, s.next)
		}
	}
}

// Objects too large for one request have one creator and one swapper too.
func bigRaces(t T, b *storage.Bucket) {
	const racers, size = 3, 17 << 20
	content := func(name string, i int) []byte {
		return append(bytes.Repeat([]byte(name[:1]), size), byte('0'+i))
	}
	holds := func(name string, i int) []byte {
		got, err := b.Read(t.Context(), "k")
		if err != nil || i >= 0 && !bytes.Equal(got, content(name, i)) {
			t.Errorf("the object is not what racer %d wrote in %s: %d bytes, %v", i, name, len(got), err)
		}
		return got
	}
	errs := race(racers, func(i int) error { return b.Create(t.Context(), "k", content("create", i)) })
	before := holds("create", onlyWinner(t, 0, errs, storage.ErrExist))
	errs = race(racers, func(i int) error { return b.Swap(t.Context(), "k", before, content("swap", i)) })
	holds("swap", onlyWinner(t, 1, errs, storage.ErrChanged))
}

// onlyWinner returns the one goroutine without an error; -1 when there is none.
// The others must have the error lost.
func onlyWinner(t T, round int, errs []error, lost error) int {
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case err == nil:
			t.Errorf("round %d: racers %d and %d both won", round, winner, i)
		case !errors.Is(err, lost):
			t.Errorf("round %d: racer %d lost with %v", round, i, err)
		}
	}
	return winner
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

// A reader sees one complete version while others replace the object.
func replacedWhole(t T, b *storage.Bucket) {
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

// Deleting the last object of a folder does not disturb another process that is
// about to create an object there.
func createAndDelete(t T, b *storage.Bucket) {
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
