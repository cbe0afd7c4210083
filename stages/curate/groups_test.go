package curate

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/stages"
)

// A list of groups is what was put into it, in memory and on disk; and ranks
// sort it as a sort in memory does.
func TestGroups(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		gs := newGroups(stages.Spill{Dir: dir, Memory: int64(rapid.IntRange(0, 2000).Draw(t, "memory"))})
		defer gs.close()
		want := make([]Group, rapid.IntRange(0, 40).Draw(t, "groups"))
		ranks := make([]Rank, len(want))
		for i := range want {
			number := rapid.SampledFrom([]float64{0, math.Copysign(0, -1), -1.5, 0.25, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64})
			g := Group{ID: fmt.Sprint("g", i), ExampleID: rapid.SampledFrom([]string{"", "g", "x\x00", "é"}).Draw(t, "example"), Epoch: i % 3,
				FirstRow: int64(i) << 33, Count: i + 1, Valid: i,
				Mean: number.Draw(t, "mean"), Min: -1, Max: 2, StdPop: 0.5, Solved: 0.75, Failed: 1, SampledTokens: 1 << 40, Index: i}
			ranks[i] = Rank{
				Text:  rapid.SampledFrom([]string{"", "\x00", "\x00\x01", "a", "a\x00", "ab", "a\xff"}).Draw(t, "text"),
				Value: number.Draw(t, "value"), Lot: rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64}).Draw(t, "lot"),
			}
			if want[i] = g; gs.add(&g) != nil {
				t.Fatal("it is not added")
			}
		}
		var got []Group
		for g, err := range gs.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, *g)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		got = got[:0]
		at := -1
		for g, err := range gs.Sorted(func(*Group) (Rank, bool) { at++; return ranks[at], at%5 > 0 }) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, *g)
		}
		want = slices.DeleteFunc(want, func(g Group) bool { return g.Index%5 == 0 })
		slices.SortFunc(want, func(a, b Group) int {
			x, y := ranks[a.Index], ranks[b.Index]
			return cmp.Or(cmp.Compare(x.Text, y.Text), cmp.Compare(x.Value, y.Value), cmp.Compare(x.Lot, y.Lot), cmp.Compare(a.ID, b.ID))
		})
		if !slices.Equal(got, want) {
			t.Fatalf("sorted: got %v, want %v", got, want)
		}
	})
}

// Groups are not held in memory: a hundred thousand more of them take a byte
// each, and what append's growth adds.
func TestGroupsAreNotHeld(t *testing.T) {
	held := func(n int) int64 {
		gs := newGroups(stages.Spill{Dir: t.TempDir(), Memory: 1 << 20})
		defer gs.close()
		before := live()
		for i := range n {
			g := Group{ID: fmt.Sprintf("example-%06d@3", i), ExampleID: fmt.Sprintf("example-%06d", i), Count: 8, Valid: 8}
			if err := gs.add(&g); err != nil {
				t.Fatal(err)
			}
			gs.by = 1
			g.Index = i
			if err := gs.Refuse(&g, Verdict{Reason: "limit", Detail: "a reason that takes some bytes to say"}); err != nil {
				t.Fatal(err)
			}
		}
		after := live()
		runtime.KeepAlive(gs)
		return after - before
	}
	few, many := held(100_000), held(200_000)
	if more := many - few; more > 400_000 {
		t.Errorf("100,000 groups take %d bytes, twice as many take %d more", few, more)
	}
}

func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
