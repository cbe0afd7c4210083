package convert

import (
	"context"

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

	buf   []formats.Trajectory // of groups that wait to be written together
	ends  []int                // of each of them, in buf
	bytes int                  // about so many

	// Of the group that is being written:
	generation int            // of the next row
	copies     map[string]int // rows by their own id
	numberID   bool
	prompt     uint64 // see formats.MixedPrompts
	mixed      bool
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

// group writes rows of a group, which keep their ids if they are final: all of it, soon, or one of its pieces.
func (w *writer) group(ctx context.Context, group []*row, final, last bool) error {
	first := w.generation == 0
	if first {
		w.numberID, w.mixed, w.prompt = group[0].NumberID, false, 0
		if len(w.copies) > togetherRows { // to clear it would take as long for each group that follows
			w.copies = map[string]int{}
		}
		if clear(w.copies); !last {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	from, sides := len(w.buf), false
	for _, r := range group {
		if r.NumberID != w.numberID {
			return fault.Invalid(w.o.Source.URI, "write the id in one form in every row", nil,
				"the id %s is a number in some rows and a text in others, which would be one group", r.Row.ExampleID)
		}
		if !final {
			name(w.o, r, w.generation, w.copies[r.own])
		}
		w.copies[r.own]++
		w.generation++
		w.count(&r.Row)
		w.buf = append(w.buf, r.Row)
		w.bytes += r.size
		sides = sides || r.Label != nil || r.Pair == importers.Chosen
	}
	w.mixed = w.mixed || formats.MixedPrompts(w.buf[from:], &w.prompt)
	if last && w.mixed {
		w.outcome.Facts[formats.FactMixedPrompts]++
	}
	if last {
		w.generation = 0
	}
	var err error
	if first && last {
		w.ends = append(w.ends, len(w.buf))
		if !sides && len(w.buf) < togetherRows && w.bytes < togetherBytes {
			return nil
		}
		err = w.flush(ctx)
	} else {
		err = w.wrote(w.rows.WritePiece(ctx, w.buf, last))
	}
	if err != nil {
		return err
	}
	return w.sides(ctx, group)
}

// flush writes the groups that wait.
func (w *writer) flush(ctx context.Context) error {
	return w.wrote(w.rows.WriteGroups(ctx, w.buf, w.ends))
}

// wrote takes the rows that wait as written.
func (w *writer) wrote(err error) error {
	clear(w.buf)
	w.buf, w.ends, w.bytes = w.buf[:0], w.ends[:0], 0
	return err
}
