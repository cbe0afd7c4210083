package convert

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/schema"
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

// sides writes the preferences and labels of a group.
func (w *writer) sides(ctx context.Context, group []*row) error {
	for i, r := range group {
		if r.Label != nil {
			if err := w.label(ctx, r); err != nil {
				return err
			}
		}
		if r.Pair != importers.Chosen {
			continue
		}
		if i+1 == len(group) || group[i+1].Pair != importers.Rejected {
			w.outcome.Facts[factUnpaired]++
			continue
		}
		if err := w.pair(ctx, &r.Row, &group[i+1].Row); err != nil {
			return err
		}
	}
	return nil
}

// pair writes a preference of the source. Both answers follow the prompt that
// the two have in common.
func (w *writer) pair(ctx context.Context, chosen, rejected *formats.Trajectory) error {
	a, b := chosen.Main(), rejected.Main()
	shared := min(chat.Shared(chosen, rejected, a, b), slices.IndexFunc(a, chosen.Trained),
		slices.IndexFunc(b, rejected.Trained))
	if shared < 0 || shared >= len(a) || shared >= len(b) {
		w.outcome.Facts[factUnpaired]++
		return nil
	}
	p := formats.Pair{
		ExampleID: chosen.ExampleID, GroupID: formats.GroupID(chosen.ExampleID, int(chosen.Epoch)), Epoch: chosen.Epoch,
		ChosenID: chosen.TrajectoryID, RejectedID: rejected.TrajectoryID, ChosenIndex: int32(a[shared]),
		RejectedIndex: int32(b[shared]),
		Prompt:        chat.JSON(chosen, a[:shared]), Chosen: chat.JSON(chosen, a[shared:]),
		Rejected: chat.JSON(rejected, b[shared:]),
		Tools:    chat.ToolsOf(chosen, a[slices.IndexFunc(a, chosen.Trained)]),
	}
	if chosen.Reward != nil && rejected.Reward != nil {
		p.ChosenScore, p.RejectedScore = *chosen.Reward, *rejected.Reward
		p.Margin = p.ChosenScore - p.RejectedScore
	}
	if w.pairs == nil {
		w.pairs = shards.NewTable[formats.Pair](w.shard, schema.TablePairs, -1)
	}
	w.outcome.Facts[factPairs]++
	w.pairBytes += p.Size()
	return write(ctx, w.pairs, p, &w.pairBytes)
}

// label writes a label of the source.
func (w *writer) label(ctx context.Context, r *row) error {
	t := &r.Row
	path := t.Main()
	at := slices.IndexFunc(path, t.Trained)
	if at < 0 || t.Reward == nil {
		w.outcome.Facts[factUnpaired]++
		return nil
	}
	l := formats.Label{
		TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, GroupID: formats.GroupID(t.ExampleID, int(t.Epoch)),
		Epoch: t.Epoch, Generation: t.Generation,
		Desirable: *r.Label, Reward: *t.Reward,
		Prompt: chat.JSON(t, path[:at]), Completion: chat.JSON(t, path[at:]), Tools: chat.ToolsOf(t, path[at]),
	}
	if w.labels == nil {
		w.labels = shards.NewTable[formats.Label](w.shard, schema.TableLabels, -1)
	}
	w.outcome.Facts[factLabels]++
	w.labelBytes += l.Size()
	return write(ctx, w.labels, l, &w.labelBytes)
}

// write writes a row of a side table, and ends its row group when it is full.
func write[T any](ctx context.Context, w *shards.TableWriter[T], x T, bytes *int) error {
	if err := w.Write(ctx, []T{x}); err != nil || *bytes < formats.PairBytes {
		return err
	}
	*bytes = 0
	return w.EndRowGroup()
}
