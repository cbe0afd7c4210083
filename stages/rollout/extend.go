package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/storage/fault"
)

// Facts about a dataset that extends another.
const (
	factAdded       = "added"        // trajectories that the other does not have
	factAddedFailed = "added_failed" // of them, failed or skipped
	// groups that more than one policy version sampled, or an unknown one and another
	factMixed = "mixed_version_groups"
)

// base is one shard's part of the dataset that is extended: the whole groups
// that begin in its slice.
type base struct {
	d      *dataset.Dataset
	groups []held
	tasks  planning.Tasks // in the order of groups

	payload      *shards.Payload
	heads, whole *dataset.Reader[formats.Trajectory]
	written      int // groups
}

type held struct {
	first int64
	rows  int32
	task  int32 // index in base.tasks; -1 when nothing is added
}

// openPlanned returns the tasks of all shards and opens the dataset that is
// extended; nil without --extend.
func (o Options) openPlanned(ctx context.Context) (all planning.Tasks, extended *dataset.Dataset, err error) {
	if o.Plan == nil {
		return planning.Every(0, o.Examples.Len(), o.Generations), nil, nil
	}
	if all, err = o.Plan.Tasks(ctx, o.Examples, o.AtEpoch()); err != nil || o.Extend.URI == "" {
		return all, nil, err
	}
	extended, err = o.openExtended(ctx)
	return all, extended, err
}

// openExtended opens the dataset that is extended and compares it with the
// plan.
func (o Options) openExtended(ctx context.Context) (*dataset.Dataset, error) {
	d, err := dataset.Open(ctx, o.Extend.URI,
		dataset.OpenOptions{Kind: schema.KindTrajectories, AcceptGates: o.Extend.AcceptGates})
	if err != nil {
		return nil, err
	}
	if d.Stage == "curate" {
		return nil, fault.Invalid(d.URI(), "extend the rollouts that it was made of", nil, "--extend: curate wrote it")
	}
	if old, err := dataset.Open(ctx, o.Out.URI, dataset.OpenOptions{AcceptGates: []string{gateName}}); err == nil &&
		old.Ref("", "").Digest == d.Ref("", "").Digest {
		return nil, agents.Usage("write the extended dataset elsewhere", "--out and --extend are both %q", d.URI())
	}
	base, err := o.Plan.Base()
	if err == nil && base.RowsDigest != d.RowsDigest.String() {
		err = fault.Invalid(o.Plan.Dataset.URI(), "curate what was made of the dataset that is extended", nil,
			"the plan was made of %q, with rows %s, not of %q, with rows %s", base.URI, base.RowsDigest, d.URI(), d.RowsDigest)
	}
	return d, err
}

// otherwise warns of agent parameters that differ from those of the base:
// members of one group should differ by chance alone.
func (o Options) otherwise(ctx context.Context, spec manifest.Spec, base *dataset.Dataset) {
	if base == nil || base.Stage != stage {
		return
	}
	for _, name := range []string{"agent", "sampling", "target_functions", "no_logprobs"} {
		was, err := json.Marshal(base.Params[name])
		is, again := json.Marshal(spec.Params[name])
		is = secret.From(ctx).Settings().JSON(is) // as the manifest has it
		if err == nil && again == nil && string(was) != string(is) {
			o.Logger().Warn("the new trajectories are made with another parameter than the existing ones", "parameter", name,
				"was", string(was), "is", string(is), "extended", base.URI())
		}
	}
}

// newBase finds the groups of this shard's slice, and what is added to them.
func (o Options) newBase(ctx context.Context, d *dataset.Dataset, planned planning.Tasks) (*base, error) {
	of := o.Out.Shard.Of()
	slice, err := d.Slice(ctx, of.Index, of.Count)
	if err != nil {
		return nil, err
	}
	b := &base{d: d, payload: shards.NewPayload(ctx, d)}
	if b.whole, err = dataset.NewReader[formats.Trajectory](ctx, d, "", d.All()); err != nil {
		return nil, err
	}
	if b.heads, err = dataset.NewHeadReader[formats.Trajectory](ctx, d, d.All()); err != nil {
		return nil, err
	}
	met, n := make([]bool, planned.Len()), 0
	var list []planning.Task
	err = dataset.Groups(ctx, d, "", d.All(), (*finished).group, func(first int64, rows []finished) error {
		next := int32(0) // generation
		for _, row := range rows {
			if row.Run != o.Run {
				return agents.Usage(fmt.Sprintf("say --run %s: it is part of the trajectories' ids", row.Run),
					"the dataset that is extended is of run %q, this one of run %q", row.Run, o.Run)
			}
			next = max(next, row.Generation+1)
		}
		i, is, err := o.taskOf(planned, rows[0].ExampleID, rows[0].Epoch)
		if err != nil {
			return err
		}
		if is && met[i] {
			return fault.Invalid(d.URI(), "the trajectories of an example must be adjacent; sort the dataset by example_id", nil,
				"example %q occurs twice", rows[0].ExampleID).InRow(first)
		}
		if is {
			met[i] = true
			n++
		}
		if first < slice.First || first >= slice.First+slice.Rows {
			return nil
		}
		g := held{first, int32(len(rows)), -1}
		if is {
			t := planned.At(i)
			t.First = max(t.First, next)
			g.task, list = int32(len(list)), append(list, t)
		}
		b.groups = append(b.groups, g)
		return nil
	})
	b.tasks = planning.Listed(list)
	if err == nil && n < len(met) {
		err = fault.Invalid(d.URI(), "curate what was made of it", nil,
			"it lacks %d of the planned examples", len(met)-n)
	}
	return b, err
}

// task copies the groups before the one of a task, and that one with its new rows; all that are left if none is of it.
func (b *base) task(ctx context.Context, w *writer, task int, added []formats.Trajectory) error {
	for b.written < len(b.groups) {
		g := b.groups[b.written]
		b.written++
		if int(g.task) == task {
			return b.group(ctx, w, g, added)
		}
		if err := b.group(ctx, w, g, nil); err != nil {
			return err
		}
	}
	return nil
}

// rest copies what is left after the last task.
func (b *base) rest(ctx context.Context, w *writer) error {
	w.outcome.Facts[factAdded] += 0 // is present even when nothing was added
	if w.o.Out.Shard.Of().Index == 0 {
		for name, n := range b.d.Facts {
			if _, own := payloadFacts(&formats.Trajectory{})[name]; own || strings.HasPrefix(name, prices.Prefix) {
				w.outcome.Facts[name] += n // rows without payload do not have it
			}
		}
	}
	if err := b.task(ctx, w, b.tasks.Len(), nil); err != nil {
		return err
	}
	return w.table.EndRowGroup() // so that it holds no file of the base
}

// group writes the rows of one group. Their payload is copied as it is encoded,
// unless another tool or version wrote it.
func (b *base) group(ctx context.Context, w *writer, g held, more []formats.Trajectory) error {
	w.outcome.Facts[factExamples]++
	copies, err := b.payload.Copyable(g.first, int64(g.rows))
	if err != nil {
		return err
	}
	var rows []formats.Trajectory
	if copies {
		if rows, err = b.heads.TakeAt(g.first, int64(g.rows)); err != nil {
			return err
		}
		for i := range rows {
			copies = copies && rows[i].HasPayloadDigest()
		}
	}
	if !copies {
		if rows, err = b.whole.TakeAt(g.first, int64(g.rows)); err != nil {
			return err
		}
	}
	for i := range rows {
		count(&w.outcome, &rows[i])
		for name, n := range payloadFacts(&rows[i]) {
			w.outcome.Facts[name] -= n
		}
	}
	if mixed(slices.Concat(rows, more)) {
		w.outcome.Facts[factMixed]++
	}
	if err := w.kept.add(ctx, rows); err != nil {
		return err
	}
	if !copies {
		return w.table.Write(ctx, append(rows, more...))
	}
	at := make([]int64, len(rows))
	for i := range at {
		at[i] = g.first + int64(i)
	}
	return w.table.CopyWith(ctx, b.payload, at, rows, more)
}

// mixed reports whether the trainable members have more than one policy
// version.
func mixed(rows []formats.Trajectory) bool {
	var first *formats.Trajectory
	for i := range rows {
		t := &rows[i]
		switch {
		case t.Status == outcomes.StatusFailed || t.Status == outcomes.StatusSkipped || t.ForkCall != nil:
		case first == nil:
			first = t
		case (first.PolicyVersion == nil) != (t.PolicyVersion == nil),
			t.PolicyVersion != nil && *t.PolicyVersion != *first.PolicyVersion:
			return true
		}
	}
	return false
}

func (b *base) close() error {
	return errors.Join(b.heads.Close(), b.whole.Close(), b.payload.Close())
}
