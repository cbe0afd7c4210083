package convert

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/schema"
)

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
