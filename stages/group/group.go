package group

import (
	"context"
	"errors"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
)

const (
	stage   = "group"
	version = 2 // raise it when the same inputs and options give other rows
)

// Run groups the trajectories of one shard of o.In, and seals the dataset
// o.Out when it is the last. When a gate refuses the sealed dataset, the
// report is whole and the error is a *dataset.GateError.
func Run(ctx context.Context, o Options) (stages.Report, error) {
	started := o.Clock()
	if err := o.Validate(); err != nil {
		return stages.Report{}, err
	}
	in, err := openInput(ctx, o.In)
	if err != nil {
		return stages.Report{}, err
	}
	of := o.Out.Shard.Of()
	shard, err := dataset.Begin(ctx, o.Out.URI, in.spec(&o), dataset.Options{Shard: of.Index, Of: of.Count, Overwrite: o.Out.Overwrite})
	if err != nil {
		return stages.Report{}, err
	}
	t := &tally{}
	if !shard.UpToDate() {
		if err := scan(ctx, &o, in, shard, t); err != nil {
			return stages.Report{}, errors.Join(err, shard.Discard())
		}
	}
	seconds := o.Clock().Sub(started).Seconds()
	outcome := t.outcome(seconds)
	if outcome.State, err = o.state(); err != nil {
		return stages.Report{}, errors.Join(err, shard.Discard())
	}
	result, err := shard.Commit(ctx, outcome)
	return report(result, outcome, seconds), err
}

// scan reads a shard's rows group by group and writes what becomes of them.
func scan(ctx context.Context, o *Options, in *input, shard *dataset.Shard, t *tally) error {
	algorithm, err := o.algorithm()
	if err != nil {
		return err
	}
	of := o.Out.Shard.Of()
	slice, err := in.base.Slice(ctx, of.Index, of.Count)
	if err != nil {
		return err
	}
	if err := in.whole(ctx, slice); err != nil {
		return err
	}
	s := &scanner{
		ctx: ctx, in: in, tally: t,
		grouper: Grouper{Algorithm: algorithm, Tolerance: o.tolerance(), Solved: o.solved()},
		members: dataset.NewTable[formats.Member](shard, "", slice.First),
		groups:  dataset.NewTable[formats.GroupStats](shard, formats.TableGroups, -1),
		seen:    map[xxh3.Uint128]struct{}{},
		meter:   o.Meter(stage, "trajectories", slice.Rows),
	}
	defer s.meter.Done()
	if s.lengths.r, err = dataset.NewReader[length](ctx, in.base, "", slice); err != nil {
		return err
	}
	defer s.lengths.r.Close()
	if o.Pairs.Mode != "" || o.Labels {
		if s.pairer, err = newPairer(ctx, o, in, slice, shard, t); err != nil {
			return err
		}
		defer s.pairer.rows.Close()
	}
	if err := examples(ctx, in.rows, slice, s.example); err != nil {
		return err
	}
	return s.flush()
}

// scanner turns rows into members, one example after the other.
type scanner struct {
	ctx     context.Context
	in      *input
	tally   *tally
	grouper Grouper
	members *dataset.TableWriter[formats.Member]
	groups  *dataset.TableWriter[formats.GroupStats]
	meter   stages.Meter

	lengths lengths
	pairer  *pairer                   // nil without pairs
	seen    map[xxh3.Uint128]struct{} // examples and epochs, for what straddles
	key     []byte
	buf     []formats.Member
	stats   []formats.GroupStats
}

// example takes neighbouring rows of one example and cuts them by epoch.
func (s *scanner) example(first int64, rows []row) error {
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && rows[to].Epoch == rows[from].Epoch {
			to++
		}
		if err := s.group(first+int64(from), rows[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (s *scanner) group(first int64, rows []row) error {
	if err := s.once(first, &rows[0]); err != nil {
		return err
	}
	s.fill(rows)
	stats, err := s.grouper.Fill(s.buf)
	if err != nil {
		return s.place(err, first)
	}
	stats.FirstRow = first
	if err := s.lengths.describe(s.buf, &stats); err != nil {
		return err
	}
	s.tally.add(s.buf, s.grouper.Solved)
	if s.pairer != nil {
		if err := s.pairer.group(s.ctx, s.buf); err != nil {
			return err
		}
	}
	if err := s.members.Write(s.ctx, s.buf); err != nil {
		return err
	}
	s.meter.Add(int64(len(rows)))
	if s.stats = append(s.stats, stats); len(s.stats) < 1000 {
		return nil
	}
	return s.flush()
}

func (s *scanner) flush() error {
	err := s.groups.Write(s.ctx, s.stats)
	s.stats = s.stats[:0]
	return err
}

// fill copies the rows into members; what they point at is shared.
func (s *scanner) fill(rows []row) {
	id := formats.GroupID(rows[0].ExampleID, int(rows[0].Epoch))
	s.buf = s.buf[:0]
	for i := range rows {
		r := &rows[i]
		s.buf = append(s.buf, formats.Member{
			TrajectoryID: r.TrajectoryID, ExampleID: r.ExampleID, GroupID: id, Epoch: r.Epoch, Generation: r.Generation,
			Status: r.Status, Reward: r.Reward, Rewards: r.Rewards, ShapedRewards: r.ShapedRewards,
		})
	}
}

// once refuses a group whose rows do not lie together.
func (s *scanner) once(first int64, r *row) error {
	s.key = append(s.key[:0], byte(r.Epoch), byte(r.Epoch>>8), byte(r.Epoch>>16), byte(r.Epoch>>24))
	s.key = append(s.key, r.ExampleID...)
	key := xxh3.Hash128(s.key)
	if _, again := s.seen[key]; again {
		return s.in.straddles(first, r.ExampleID)
	}
	s.seen[key] = struct{}{}
	return nil
}

// place says in which row a reward is no number.
func (s *scanner) place(err error, first int64) error {
	var bad *BadReward
	if !errors.As(err, &bad) {
		return err
	}
	m := &s.buf[bad.Member]
	e := formats.Invalid(s.in.rows.URI(), "a reward is a finite number or null; score the trajectories again", nil,
		"trajectory %q: %v", m.TrajectoryID, bad)
	e.Row = first + int64(bad.Member)
	return e
}
