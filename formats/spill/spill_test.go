package spill_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats/spill"
)

// Whatever fits into memory, records come out as a sort in memory has them.
func TestSorted(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfDistinct(rapid.SliceOfN(rapid.Byte(), 0, 12), func(k []byte) string { return string(k) }).Draw(t, "keys")
		s := spill.New(dir, int64(rapid.IntRange(0, 600).Draw(t, "memory")))
		defer s.Close()
		for _, k := range keys {
			if err := s.Add(k, append([]byte("value of "), k...)); err != nil {
				t.Fatal(err)
			}
		}
		var got [][]byte
		for r, err := range s.Sorted() {
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Value) != "value of "+string(r.Key) {
				t.Fatalf("key %q has value %q", r.Key, r.Value)
			}
			got = append(got, bytes.Clone(r.Key))
		}
		slices.SortFunc(keys, bytes.Compare)
		if !slices.EqualFunc(got, keys, bytes.Equal) {
			t.Fatalf("got %q, want %q", got, keys)
		}
	})
}

func TestTwice(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.Uint64Range(0, 2000)).Draw(t, "numbers")
		s := spill.NewSet(dir, int64(rapid.IntRange(0, 200).Draw(t, "memory")))
		defer s.Close()
		want := len(slices.Compact(slices.Sorted(slices.Values(numbers)))) < len(numbers)
		for _, n := range numbers {
			if twice, err := s.Add(n); err != nil || twice && !want {
				t.Fatalf("%v: %v, %v", numbers, twice, err)
			}
		}
		if got, err := s.Twice(); err != nil || got != want {
			t.Fatalf("%v: %v, want %v: %v", numbers, got, want, err)
		}
	})
}

// What comes again soon is noticed soon.
func TestTwiceIsNoticedOnTheWay(t *testing.T) {
	s := spill.NewSet(t.TempDir(), 1<<20)
	defer s.Close()
	for i := range 5000 {
		twice, err := s.Add(uint64(i % 300))
		if err != nil {
			t.Fatal(err)
		}
		if twice {
			return
		}
	}
	t.Error("5000 numbers of 300 are all new")
}

// Memory is full every four records; no file is seen meanwhile.
func TestRunFilesAreUnlinked(t *testing.T) {
	dir := t.TempDir()
	s := spill.New(dir, 4*(24+8))
	for i := range 100 {
		if err := s.Add([]byte{byte(i * 37), byte(i)}, []byte("value.")); err != nil {
			t.Fatal(err)
		}
	}
	if s.Runs() != 24 {
		t.Errorf("%d runs", s.Runs())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoPlaceToSpill(t *testing.T) {
	s := spill.New(t.TempDir()+"/missing", 1)
	defer s.Close()
	if err := s.Add([]byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Add([]byte("b"), nil); !os.IsNotExist(err) && err == nil {
		t.Errorf("got %v", err)
	}
}

// A list gives back what was added, as often as it is asked, whatever fits
// into memory; and when its reader stops early.
func TestList(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 200)).Draw(t, "records")
		l := spill.NewList(dir, int64(rapid.IntRange(0, 600).Draw(t, "memory")))
		defer l.Close()
		for _, b := range want {
			if err := l.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			var got [][]byte
			for b, err := range l.All() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, bytes.Clone(b))
			}
			if l.Len() != len(want) || !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("got %q, want %q", got, want)
			}
			for b, err := range l.All() {
				if err != nil || !bytes.Equal(b, want[0]) {
					t.Fatal(b, err)
				}
				break
			}
		}
	})
}
