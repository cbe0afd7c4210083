package parquet

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// Rows of one group that are in two files give the same result as rows that
// were written together: whole groups in a row group, in files that can be
// copied again and that other tools read.
func TestCopyFromSeveralFiles(t *testing.T) {
	large := slices.Collect(randomtest.Trajectories(3,
		randomtest.Options{Groups: 4, Generations: 4, Messages: 3, SampledTokens: 150_000}))
	for name, groups := range map[string][][]formats.Trajectory{"large groups": large,
		"everything that rows have": varied(60)} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			old := make([][]formats.Trajectory, len(groups))
			for i, rows := range groups {
				old[i] = rows[:1+r.IntN(len(rows))]
			}
			base := opened(t, fileOf(t, old))
			var out bytes.Buffer
			w := NewWriter[formats.Trajectory](&out)
			first := int64(0)
			var starts []int64
			for i, rows := range groups {
				starts = append(starts, w.Rows())
				from := []Source{{base, upFrom(first, len(old[i]))}}
				first += int64(len(old[i]))
				if more := rows[len(old[i]):]; len(more) > 0 {
					from = append(from, Source{opened(t, fileOf(t, [][]formats.Trajectory{more})), upFrom(0, len(more))})
				}
				if err := w.CopyFrom(from, rows); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			sameRows(t, flat(groups), read[formats.Trajectory](t, out.Bytes(), 0, w.Rows()))
			f, at := opened(t, out.Bytes()), int64(0)
			for _, n := range rowGroups(f) {
				if !slices.Contains(starts, at) {
					t.Errorf("a row group begins at row %d, inside a group", at)
				}
				at += n
			}
			if len(rowGroups(f)) > 2*len(rowGroups(base))+2 {
				t.Errorf("%d row groups; the base has %d", len(rowGroups(f)), len(rowGroups(base)))
			}
			if !Copyable[formats.Trajectory](f) {
				t.Fatal("a copy cannot be copied")
			}
			if len(groups) < 60 { // large ones have taken their time
				return
			}
			sameInArrow(t, flat(groups), out.Bytes())
			data, want, again := copied(t, f, choose(9, groups, 0.6))
			sameRows(t, flat(want), read[formats.Trajectory](t, data, 0, again.Rows()))
		})
	}
}

func upFrom(first int64, n int) []int64 {
	at := make([]int64, n)
	for i := range at {
		at[i] = first + int64(i)
	}
	return at
}
