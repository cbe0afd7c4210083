package convert

import (
	"cmp"
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/storage/fault"
)

// writer writes groups.
type writer struct {
	o       *ImportOptions
	shard   *shards.Shard
	rows    *shards.TableWriter[formats.Trajectory]
	pairs   *shards.TableWriter[formats.Pair]  // nil before the first
	labels  *shards.TableWriter[formats.Label] // nil before the first
	outcome shards.Outcome

	pairBytes, labelBytes int // of the row groups being written

	buf    []formats.Trajectory // of groups that wait to be written together
	ends   []int                // of each of them, in buf
	bytes  int                  // about so many
	copies map[string]int       // rows of a group by their own id
}

// So many rows or bytes of groups are written together.
const (
	togetherRows  = 256
	togetherBytes = 1 << 20
)

// newWriter returns a writer. The tables of pairs and labels begin with their first row.
func newWriter(o *ImportOptions, shard *shards.Shard) *writer {
	return &writer{o: o, shard: shard, rows: shards.NewTable[formats.Trajectory](shard, "", -1), copies: map[string]int{},
		outcome: shards.Outcome{Facts: map[string]float64{}}}
}

// group writes the rows of a group, soon.
func (w *writer) group(ctx context.Context, group []*row) error {
	slices.SortStableFunc(group, func(a, b *row) int {
		if a.Attempt == nil || b.Attempt == nil {
			return 0
		}
		return cmp.Compare(*a.Attempt, *b.Attempt)
	})
	if slices.ContainsFunc(group, func(r *row) bool { return r.NumberID != group[0].NumberID }) {
		return fault.Invalid(w.o.Source.URI, "write the id in one form in every row", nil,
			"the id %s is a number in some rows and a text in others, which would be one group", group[0].Row.ExampleID)
	}
	clear(w.copies)
	sides, final := false, w.o.final(group)
	for i, r := range group {
		copy := 0
		if len(group) > 1 {
			copy = w.copies[r.own]
			w.copies[r.own]++
		}
		if !final {
			name(w.o, r, i, copy)
		}
		w.count(&r.Row)
		w.buf = append(w.buf, r.Row)
		w.bytes += r.size
		sides = sides || r.Label != nil || r.Pair == importers.Chosen
	}
	if formats.MixedPrompts(w.buf[len(w.buf)-len(group):]) {
		w.outcome.Facts[formats.FactMixedPrompts]++
	}
	w.ends = append(w.ends, len(w.buf))
	if !sides && len(w.buf) < togetherRows && w.bytes < togetherBytes {
		return nil
	}
	if err := w.flush(ctx); err != nil || !sides {
		return err
	}
	return w.sides(ctx, group)
}

// flush writes the groups that wait.
func (w *writer) flush(ctx context.Context) error {
	err := w.rows.WriteGroups(ctx, w.buf, w.ends)
	clear(w.buf)
	w.buf, w.ends, w.bytes = w.buf[:0], w.ends[:0], 0
	return err
}
