package curate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/stages"
)

// writer carries out a slice of the plan: one goroutine decides about groups
// and reads their kept rows, the other writes.
type writer struct {
	set       *set
	own       shardGroups // its groups that are written here
	plan      *plan
	recompute func([]formats.Member, []formats.Trajectory) error // nil: advantages stay as group made them
	step      *advantages.Step
	members   *dataset.Reader[formats.Member]
	decode    bool            // no payload is copied
	spill     stages.Spill    // for scattered groups
	payload   *shards.Payload // of the base
	heads     *baseRows       // the base's rows without it
	whole     *baseRows       // with it, for rules that read it and for rows that cannot be copied
	rows      *shards.TableWriter[formats.Trajectory]
	decisions *shards.TableWriter[decision.Decision]
	planTable *planTableWriter
	side      *sideTables
	meter     *stages.Meter
	tally     tally

	decided []decision.Decision
}

const inFlight = 4 // groups between reading and writing

func (w *writer) run(ctx context.Context) error {
	full, free := make(chan *decided, inFlight), make(chan *decided, inFlight)
	for range inFlight {
		free <- &decided{}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(full)
		if w.set.scattered {
			return w.decideScattered(ctx, full, free)
		}
		return w.decide(ctx, full, free, w.group)
	})
	g.Go(func() error {
		for d := range full {
			if err := w.write(ctx, d); err != nil {
				return err
			}
			free <- d
		}
		return w.flush(ctx)
	})
	return g.Wait()
}

// decide processes the groups in order: read fetches the members of one.
func (w *writer) decide(ctx context.Context, full chan<- *decided, free <-chan *decided, read func(*decided) error) error {
	for j, err := range w.plan.verdicts(w.own.from, w.own.to) {
		if err != nil {
			return err
		}
		select {
		case d := <-free:
			w.heads.done = max(w.heads.done, d.group.FirstRow+int64(d.group.Count)) // groups are written in order
			d.group, d.verdict = *j.Group, j.Verdict
			if err := read(d); err != nil {
				return err
			}
			if err := w.judge(d); err != nil {
				return err
			}
			full <- d // never blocks: it holds every group there is
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (w *writer) group(d *decided) error {
	g := &d.group
	d.read = readNone
	d.members, d.verdicts = sized(d.members, g.Count), sized(d.verdicts, g.Count)
	if n, err := w.members.Read(d.members); n < g.Count {
		if err = notEOF(err); err == nil {
			err = w.set.damaged("group %q ends early", g.ID)
		}
		return err
	}
	for k := range d.members {
		if m := &d.members[k]; m.GroupID != g.ID {
			return w.set.damaged("trajectory %q is in group %q, not %q", m.TrajectoryID, m.GroupID, g.ID)
		}
	}
	return nil
}

// judge decides about the members of a group and reads what is kept.
func (w *writer) judge(d *decided) error {
	clear(d.verdicts)
	rows := func() ([]formats.Trajectory, error) {
		err := w.base(w.whole, d)
		return d.rows, err
	}
	var err error
	if d.ended, err = w.plan.members(judged{&d.group, d.verdict}, d.members, rows, d.verdicts); err != nil {
		return fmt.Errorf("group %q: %w", d.group.ID, err)
	}
	return w.keep(d)
}

// keep reads the kept rows of a group from the base, and fills in the columns
// of score and group.
func (w *writer) keep(d *decided) error {
	d.kept, d.at = nil, d.at[:0]
	if !slices.ContainsFunc(d.verdicts, func(v Verdict) bool { return v.Reason == "" }) {
		return nil
	}
	copies, err := w.readKept(d)
	if err != nil {
		return err
	}
	if err := w.recomputeKept(d); err != nil {
		return err
	}
	if left := w.plan.left; left != nil {
		if d.ended = w.plan.again(d.group, d.members, left, d.verdicts); d.ended != "" {
			return nil
		}
	}
	d.kept = d.rows[:0]
	for k := range d.members {
		m := &d.members[k]
		if d.verdicts[k].Reason != "" {
			continue
		}
		d.kept = append(d.kept, d.rows[k])
		t := &d.kept[len(d.kept)-1]
		t.Reward, t.Rewards, t.ShapedRewards = m.Reward, m.Rewards, m.ShapedRewards
		t.GroupID, t.Advantage, t.Advantages = m.GroupID, w.step.Apply(m.Advantage), m.Advantages
		t.Losses = m.Losses
		if copies {
			d.at = append(d.at, d.group.FirstRow+int64(k))
		}
	}
	return nil
}

// readKept reads a group's rows, and reports whether their payload can be copied:
// then it may be missing in them.
func (w *writer) readKept(d *decided) (copies bool, err error) {
	if !w.decode && !w.set.scattered {
		copies, err = w.payload.Copyable(d.group.FirstRow, int64(d.group.Count))
	}
	if err == nil && copies {
		err = w.base(w.heads, d)
		for k := range d.rows {
			copies = copies && d.rows[k].HasPayloadDigest()
		}
	}
	if err == nil && !copies {
		err = w.base(w.whole, d)
	}
	return copies, err
}

// base reads a group's rows from a source, unless they were read already.
func (w *writer) base(from *baseRows, d *decided) error {
	g := &d.group
	want := readWhole
	if from.head {
		want = readHeads
	}
	if d.read >= want {
		return nil
	}
	d.rows, d.read = sized(d.rows, g.Count), want
	if err := from.read(g.FirstRow, d.rows); err != nil {
		return err
	}
	for k := range d.members {
		if err := w.same(&d.members[k], &d.rows[k], g.FirstRow+int64(k)); err != nil {
			return err
		}
	}
	return nil
}

// same refuses a member whose base row is another trajectory.
func (w *writer) same(m *formats.Member, t *formats.Trajectory, at int64) error {
	if m.TrajectoryID == t.TrajectoryID {
		return nil
	}
	return w.set.damaged("its row is trajectory %q, its base's %q is %q", m.TrajectoryID, w.set.base.URI(),
		t.TrajectoryID).InRow(at)
}

// recomputeKept recomputes the advantages of the remaining members, if the options say so.
func (w *writer) recomputeKept(d *decided) error {
	if w.recompute == nil {
		return nil
	}
	var left []formats.Member
	var rows []formats.Trajectory
	var at []int
	for k, v := range d.verdicts {
		if v.Reason == "" {
			left, rows, at = append(left, d.members[k]), append(rows, d.rows[k]), append(at, k)
		}
	}
	if err := w.recompute(left, rows); err != nil {
		return fmt.Errorf("group %q: %w", d.group.ID, err)
	}
	for i, k := range at {
		if d.members[k].Advantage = nil; left[i].Advantage != nil {
			d.members[k].Advantage = new(*left[i].Advantage) // the estimator reuses its memory
		}
	}
	return nil
}

func (w *writer) write(ctx context.Context, d *decided) error {
	var err error
	if len(d.at) == 0 {
		err = w.rows.Write(ctx, d.kept)
	} else {
		err = w.rows.Copy(ctx, w.payload, d.at, d.kept)
	}
	if err != nil {
		return err
	}
	w.tally.add(d)
	if err := w.side.add(ctx, d); err != nil {
		return err
	}
	if err := w.planTable.add(ctx, &d.group, d.members); err != nil {
		return err
	}
	for k := range d.members {
		m, v := &d.members[k], d.verdicts[k]
		w.decided = append(w.decided, decision.Decision{
			TrajectoryID: m.TrajectoryID, ExampleID: m.ExampleID, GroupID: m.GroupID, Epoch: m.Epoch, Generation: m.Generation,
			Kept: v.Reason == "", Reason: v.Reason, Detail: v.Detail,
		})
	}
	w.meter.Add(int64(len(d.members)))
	if len(w.decided) < 1000 {
		return nil
	}
	return w.flush(ctx)
}

func (w *writer) flush(ctx context.Context) error {
	err := w.decisions.Write(ctx, w.decided)
	w.decided = w.decided[:0]
	return errors.Join(err, w.planTable.flush(ctx))
}
