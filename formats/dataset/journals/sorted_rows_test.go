package journals

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

var stores atomic.Int64

// row returns a row whose generation is its rank.
func row(example, generation int) formats.Trajectory {
	id := fmt.Sprintf("ex-%d", example)
	return formats.Trajectory{TrajectoryID: formats.TrajectoryID("run", id, 0, generation), ExampleID: id, Generation: int32(generation),
		Messages: []formats.Message{{Parent: -1, Role: "user", Content: "what is " + id, Call: -1}}}
}

// segmented makes a journal of rows whose generation is their rank. It also
// returns a function that gives how often each segment was read since.
func segmented(t testing.TB, segments [][]formats.Trajectory) (*Journal[formats.Trajectory], func() map[string]int) {
	t.Helper()
	b, err := storage.Open(t.Context(), fmt.Sprintf("mem://%s-%d", t.Name(), stores.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	j, err := Open[formats.Trajectory](t.Context(), Place{Bucket: b, Folder: "journal-0/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range segments {
		if err := j.Append(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	reads := map[string]int{}
	j.Bucket = j.Bucket.WithHook(func(op, key string) error {
		mu.Lock()
		defer mu.Unlock()
		if op == "read" {
			reads[key]++
		}
		return nil
	})
	return j, func() map[string]int { mu.Lock(); defer mu.Unlock(); return reads }
}

func byGeneration(r *formats.Trajectory) (int64, error) { return int64(r.Generation), nil }

// inSegments cuts rows with the ranks of an order into segments.
func inSegments(order []int, size int) (segments [][]formats.Trajectory) {
	for ranks := range slices.Chunk(order, size) {
		var rows []formats.Trajectory
		for _, r := range ranks {
			rows = append(rows, row(r%7, r))
		}
		segments = append(segments, rows)
	}
	return segments
}

// However the rows of a journal are ordered and how little memory there is, each segment is
// loaded once.
func TestSortingLoadsSegmentsOnce(t *testing.T) {
	const rows, size = 800, 40
	for _, memory := range []int64{1 << 10, 20 << 10, 1 << 20} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			j, reads := segmented(t, inSegments(rand.New(rand.NewPCG(1, 1)).Perm(rows), size))
			next := 0
			for rows, err := range j.sorted(t.Context(), byGeneration, memory) {
				if err != nil || len(rows) != 1 || rows[0].Generation != int32(next) {
					t.Fatal(err, len(rows), next)
				}
				next++
			}
			loaded := reads()
			if next != rows || len(loaded) != rows/size || slices.Max(slices.Collect(maps.Values(loaded))) != 1 {
				t.Errorf("%d rows; loaded were %v", next, loaded)
			}
		})
	}
}

// Sorting takes the rows that a sort in memory would, also when it holds next to
// none of them.
func TestSortingWithinALimitTakesTheSameRows(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			order := rand.New(rand.NewPCG(seed, 2))
			var segments [][]formats.Trajectory
			for s := range 1 + order.IntN(7) {
				var rows []formats.Trajectory
				for range 1 + order.IntN(8) {
					r := row(order.IntN(3), order.IntN(20))
					r.Answer = fmt.Sprint(s, " ", len(rows)) + strings.Repeat("x", order.IntN(300))
					rows = append(rows, r)
				}
				segments = append(segments, rows)
			}
			j, _ := segmented(t, segments)
			want := slices.Concat(segments...)
			slices.SortStableFunc(want, func(a, b formats.Trajectory) int { return cmp.Compare(a.Generation, b.Generation) })
			seen := map[string]bool{}
			want = slices.DeleteFunc(want, func(r formats.Trajectory) bool {
				again := seen[r.TrajectoryID]
				seen[r.TrajectoryID] = true
				return again
			})
			var got []formats.Trajectory
			last := int32(-1)
			for rows, err := range j.sorted(t.Context(), byGeneration, order.Int64N(100<<10)) {
				if err != nil || rows[0].Generation == last {
					t.Fatalf("%v, or rank %d twice", err, last)
				}
				last = rows[0].Generation
				got = append(got, rows...)
			}
			if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// seconds returns the CPU time of the process.
func seconds(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// The rows of a rollout with 10,000 trajectories open finish in any order;
// others nearly in that of the examples.
func BenchmarkJournalSorted(b *testing.B) {
	const rows, size = 8000, 40
	order := rand.New(rand.NewPCG(1, 1))
	ordered := make([]int, rows)
	for i := range ordered {
		ordered[i] = i
	}
	for _, c := range []struct {
		name  string
		order []int
	}{{"any-order", order.Perm(rows)}, {"ordered", ordered}} {
		b.Run(c.name, func(b *testing.B) {
			j, _ := segmented(b, inSegments(c.order, size))
			from, n := seconds(b), 0
			for b.Loop() {
				for group, err := range j.Sorted(context.Background(), byGeneration) {
					if err != nil {
						b.Fatal(err)
					}
					n += len(group)
				}
			}
			if n != b.N*rows {
				b.Fatal(n)
			}
			b.ReportMetric((seconds(b)-from)/float64(n)*1e6, "cpu-us/row")
		})
	}
}
