package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// Merge is which rows become one trajectory.
type Merge string

// The choices of rows that are merged.
const (
	MergeNone  Merge = "none"
	MergeCalls Merge = "calls" // rows are calls of attempts
)

// declareMerge declares how rows that are single calls become trajectories.
func (o *ImportOptions) declareMerge(d *plugin.Declarer) {
	plugin.Choice(d, &o.Merge, "merge",
		"merge rows that are single `CALLS`, each with the history before it, as gateways and traces log them, into "+
			"trajectories: none, or calls. A call continues the longest answer with which its prompt begins",
		MergeNone, MergeCalls).ID("merge").Common()
	d.String(&o.MergeBy, "merge-by",
		"with --merge calls: the calls with one JSON value of this `FIELD`, such as session_id, are one attempt; it "+
			"is searched as those of --group-by are").ID("merge-by")
	d.Bool(&o.MergeByTime, "merge-by-time",
		"with --merge calls: where several attempts gave the answer that a call continues, take the latest that had "+
			"ended and that no other call continues; without it, these calls become failed rows (ambiguous_merge)").
		ID("merge-by-time")
	plugin.Choice(d, &o.Auxiliary, "auxiliary",
		"with --merge calls: treat auxiliary calls, such as those for a title, in this `WAY`: skip them in training, "+
			"or train on them; a call is auxiliary if no call of its conversation offers tools, and a call of another "+
			"conversation of the attempt does", tree.AuxiliarySkip, tree.AuxiliaryTrain).ID("auxiliary")
}

// validateMerge checks how rows are merged.
func (o *ImportOptions) validateMerge() error {
	o.Merge, o.Auxiliary = cmp.Or(o.Merge, MergeNone), cmp.Or(o.Auxiliary, tree.AuxiliarySkip)
	switch {
	case o.Merge == MergeNone && (o.MergeBy != "" || o.MergeByTime):
		return fault.Errorf(fault.Usage, "add --merge calls",
			"import: --merge-by and --merge-by-time say how calls are merged")
	case o.Merge == MergeCalls && o.MergeBy == "" && o.Out.Shard.Of().Count > 1:
		return fault.Errorf(fault.Usage, "name the field of an attempt with --merge-by, or leave --shard out",
			"import: calls that only their messages link cannot be divided among shards")
	}
	return nil
}

// call makes the call that a row is.
func (o *ImportOptions) call(r *row, record []byte, at validate.Source) (err error) {
	if validate.OnlyTokens(&r.Row) {
		return errors.New("for --merge calls: it has token ids and no messages, by which calls are linked")
	}
	by := ""
	if o.MergeBy != "" {
		if v := find(r.Item, record, o.MergeBy); v != nil {
			if by = jsontext.Compact(v); v[0] == '"' { // else escapes count
				by = string(importers.Quote(jsontext.Unquote(v)))
			}
		} else if !o.Lossy {
			return noField(o.MergeBy, "--merge-by")
		}
	}
	if r.call, err = calls.New(*r.Item, by, at); err != nil {
		return fmt.Errorf("for --merge calls: %w", err)
	}
	return nil
}

// merge passes the trajectories on that the calls are parts of.
func (c *check) merge(ctx context.Context, add func(context.Context, *row) error) error {
	h := &hasher{}
	c.merged = &Merged{Differ: map[string]Differing{}}
	for v, err := range c.joiner.Conversations(ctx) {
		now, late := true, false
		if err == nil && c.night != nil {
			now, late, err = c.night.take(ctx, v)
		}
		if err == nil && now {
			err = c.conversation(ctx, v, h, late, add)
		}
		if err != nil {
			return err
		}
	}
	c.merged.Counts = c.joiner.Counts()
	return nil
}

// conversation passes the trajectory of a conversation on.
func (c *check) conversation(ctx context.Context, v *calls.Conversation, h *hasher, late bool,
	add func(context.Context, *row) error) error {
	at := v.Calls[0].At
	at.ID = ""
	record := importers.Record{Row: at.Record, Line: int(at.Line)}
	item, differ, err := v.Item()
	if err != nil {
		return record.Refused(at.File, "", fmt.Errorf("the trajectory that begins there: %w", err))
	}
	r := &row{Item: &item, own: v.ID, size: v.Size}
	t := &r.Row
	if c.o.Train == TrainLast {
		trainLast(t)
	}
	if t.ExampleID == "" {
		t.ExampleID = h.digest(t, v.Prompt(), chat.ToolSet(t, t.Calls[0].Tools))
	}
	c.o.epoch(r)
	if column, n := oversize(t, v.Size); column != "" {
		importers.Fail(t, outcomes.FailTooLarge, tooLarge(column, n))
		t.DropTokens()
		t.Messages, t.Candidates, t.Artifacts, t.Losses, t.Answer = nil, nil, nil, nil, ""
	}
	if !c.o.inShard(r) {
		return nil
	}
	if late {
		tooLate(r)
	}
	for _, what := range differ {
		d := cmp.Or(c.merged.Differ[what], Differing{First: at.File + ": " + record.At()})
		d.Trajectories++
		c.merged.Differ[what] = d
	}
	if v.Resampled {
		c.merged.First = cmp.Or(c.merged.First, v.Calls[0].By)
	}
	return c.row(ctx, r, at, add)
}

// Merged describes what became of calls, of the whole source.
type Merged struct {
	calls.Counts
	Differ map[string]Differing `json:"differ,omitempty"`          // by what the trajectories then do not have
	First  string               `json:"first_resampled,omitempty"` // of the values that Counts.Resampled counts
}

// Differing counts trajectories of the shard whose calls contradict each other.
type Differing struct {
	Trajectories int64  `json:"trajectories"`
	First        string `json:"first"` // place of a call of the first
}

// facts adds the counts, which are of all shards.
func (m *Merged) facts(facts map[string]float64) {
	if m != nil {
		facts[factMergedCalls], facts[factAmbiguous] = float64(m.Calls), float64(m.Ambiguous)
		facts[factCopies], facts[factTries], facts[factGaps] = float64(m.Copies), float64(m.Tries), float64(m.Gaps)
	}
}

// write writes what became of calls.
func (m *Merged) write(w io.Writer) {
	if m == nil {
		return
	}
	fmt.Fprintf(w, "%s became %s (%d ambiguous, %s, %s, %s)\n", plural.Of(m.Calls, "call"),
		plural.Of(m.Conversations, "trajectory"), m.Ambiguous, plural.Of(m.Copies, "copy"),
		plural.Of(m.Tries, "earlier try"), plural.Of(m.Gaps, "gap"))
	if m.Ambiguous > 0 {
		fmt.Fprintln(w, "  ambiguous calls are failed rows: --merge-by FIELD names what tells attempts apart, "+
			"--merge-by-time decides by time")
	}
	if m.Gaps > 0 {
		fmt.Fprintln(w, "  a gap is a call that the log lacks: what follows on it is a trajectory of its own "+
			"(missing_call in its metadata)")
	}
	for _, what := range slices.Sorted(maps.Keys(m.Differ)) {
		d := m.Differ[what]
		fmt.Fprintf(w, "  the calls of %s differ in the %s; the first: %s\n",
			plural.Of(d.Trajectories, "trajectory"), what, d.First)
	}
	if m.Resampled > 0 {
		fmt.Fprintf(w, "  of %s of --merge-by several answers to the first prompt were continued, the first %s: "+
			"is it the field of one attempt?\n", plural.Of(m.Resampled, "value"), m.First)
	}
}
