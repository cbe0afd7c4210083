package convert

import (
	"cmp"
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
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

	buf     []formats.Trajectory // of groups that wait to be written together
	ends    []int                // of each of them, in buf
	bytes   int                  // about so many
	written int64                // rows
	copies  map[string]int       // rows of a group by their own id
	totals  totals
}

// So many rows or bytes of groups are written together.
const (
	togetherRows  = 256
	togetherBytes = 1 << 20
)

// The facts of an import.
const (
	factRecords    = "records"     // of the source, in all shards
	factRefused    = "refused"     // records that were dropped, in all shards
	factLosses     = "losses"      // parts of the shard's rows that were dropped
	factRedactions = "redactions"  // texts of the shard's rows that were removed
	factPairs      = "pairs"       // preferences of the source
	factLabels     = "labels"      // labels of the source
	factUnpaired   = "pairs_unfit" // preferences whose prompts differ, which _pairs cannot hold
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
		w.totals.add(&r.Row)
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

// final reports whether the rows of a group keep their ids.
func (o *ImportOptions) final(group []*row) bool {
	if !group[0].Final || o.GroupBy != GroupByID || o.Groups != nil {
		return false
	}
	seen := map[int32]bool{}
	for _, r := range group {
		if !r.Final || seen[r.Row.Generation] {
			return false
		}
		seen[r.Row.Generation] = true
	}
	return true
}

// flush writes the groups that wait.
func (w *writer) flush(ctx context.Context) error {
	err := w.rows.WriteGroups(ctx, w.buf, w.ends)
	w.written += int64(len(w.buf))
	clear(w.buf)
	w.buf, w.ends, w.bytes = w.buf[:0], w.ends[:0], 0
	return err
}

// totals counts the rows by status and failure class, and adds up their calls.
type totals struct {
	counts, failures                   map[string]int64
	prompt, completion, sampled, calls int64
}

func (n *totals) add(t *formats.Trajectory) {
	stages.Count(&n.counts, t.Status, 1)
	stages.Count(&n.failures, t.FailureClass, 1)
	n.prompt += int64(t.PromptTokens)
	n.completion += int64(t.CompletionTokens)
	n.sampled += int64(t.SampledTokens)
	n.calls += int64(len(t.Calls))
}

// count adds the totals to the outcome.
func (w *writer) count() {
	n, facts := &w.totals, w.outcome.Facts
	if n.counts == nil {
		return // no rows
	}
	w.outcome.Counts, w.outcome.Failures = n.counts, n.failures
	facts["prompt_tokens"], facts["completion_tokens"] = float64(n.prompt), float64(n.completion)
	facts["sampled_tokens"], facts["calls"] = float64(n.sampled), float64(n.calls)
}

// name sets the ids of a row, the generation-th of its group. copy counts the
// rows of the group with the same id or content before it.
func name(o *ImportOptions, r *row, generation, copy int) {
	t := &r.Row
	t.Run, t.Generation = o.Run, int32(generation)
	if r.Final {
		withSource(t)
	}
	t.TrajectoryID = formats.StoredID(t.ExampleID, int(t.Epoch), r.own, copy)
}

// withSource adds the source's id to the metadata, unless they have one.
func withSource(t *formats.Trajectory) {
	if t.TrajectoryID == "" {
		return
	}
	const key = `{"source_id":`
	b := append(make([]byte, 0, len(key)+len(t.TrajectoryID)+len(`"",`)+len(t.Metadata)), key...)
	b = jsontext.AppendString(b, t.TrajectoryID)
	for k, v := range jsontext.Members([]byte(t.Metadata)) {
		if string(k) == "source_id" {
			if string(v) != "null" {
				return
			}
			continue
		}
		b = append(append(jsontext.AppendString(append(b, ','), string(k)), ':'), v...)
	}
	t.Metadata = string(append(b, '}'))
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
