package diff

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/storage/fault"
)

// value returns a row's reward, of groups its advantage, or nil and the reason.
func value(r *query.Row, name string) (*float64, string) {
	if name == "" && r.GroupID != "" {
		return r.Advantage, r.NoAdvantage
	}
	if name == "" {
		return r.Reward, r.Failure
	}
	if i := slices.IndexFunc(r.Rewards, func(x formats.NamedReward) bool { return x.Name == name }); i >= 0 {
		return r.Rewards[i].Value, r.Rewards[i].Failure
	}
	return nil, outcomes.RewardMissing
}

// openScores opens scores, groups, or another kind.
func openScores(ctx context.Context, uri string, other ...schema.Kind) (*dataset.Dataset, error) {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		return nil, err
	}
	if d.Kind != schema.KindScores && d.Kind != schema.KindGroups && !slices.Contains(other, d.Kind) {
		return nil, fault.Invalid(d.URI(), "name a dataset that score or group wrote", nil,
			"it holds %s, not %s or %s", d.Kind,
			schema.KindScores, schema.KindGroups)
	}
	return d, nil
}

// read reads both datasets row by row, a group at a time.
func (d *Difference) read(ctx context.Context, a, b *dataset.Dataset, o DiffOptions) error {
	columns := []string{"trajectory_id", "example_id", "epoch", "generation", "reward", "rewards.name", "rewards.value", "rewards.failure",
		"failure", "signals.message", "signals.component", "signals.value", "group_id", "advantage", "no_advantage"}
	if o.Movers > 0 {
		columns = append(columns, "rewards.reason") // long, such as what a test printed
	}
	next, stop := iter.Pull2(query.Rows(ctx, b, query.Query{}, columns...))
	defer stop()
	var others []query.Row
	err := dataset.GroupsOf(query.Rows(ctx, a, o.Query, columns...), group, func(rows []query.Row) error {
		others = others[:0]
		for i := range rows {
			other, err, _ := next()
			for ; err == nil && other.Number < rows[i].Number; other, err, _ = next() {
			}
			if err != nil {
				return err
			}
			if rows[i].TrajectoryID != other.TrajectoryID {
				return fault.Invalid(b.URI(), "score the trajectories again", nil, "it scores %q in the row of %q",
					other.TrajectoryID, rows[i].TrajectoryID).InRow(other.Number)
			}
			others = append(others, *other)
		}
		d.group(rows, others, o)
		return nil
	})
	for _, c := range d.Changes {
		n := float64(c.Compared)
		c.MeanA, c.MeanB, c.MeanMovement = c.MeanA/n, c.MeanB/n, c.MeanMovement/n
	}
	for _, name := range []string{o.Reward, o.RewardB} {
		if err == nil && name != "" && !slices.ContainsFunc(d.Changes, func(c *Change) bool { return c.Name == name }) {
			return fault.Invalid(b.URI(), "`rollmill show` lists a dataset's rewards", nil, "neither it nor %q has a reward %q", a.URI(), name)
		}
	}
	return err
}

// group names the group of a row: of scores, all attempts at an example in an epoch.
func group(r *query.Row) string {
	if r.GroupID != "" {
		return r.GroupID
	}
	return formats.GroupID(r.ExampleID, int(r.Epoch))
}

func (d *Difference) group(rows, others []query.Row, o DiffOptions) {
	advantages := o.Reward == "" && rows[0].GroupID != ""
	as, bs, first := make([]*float64, len(rows)), make([]*float64, len(rows)), len(d.Points)
	for i := range rows {
		r := &rows[i]
		d.changes(r, &others[i])
		d.signals(r.Signals, others[i].Signals)
		nameB := cmp.Or(o.RewardB, o.Reward)
		var lack, why string
		as[i], lack = value(r, o.Reward)
		bs[i], why = value(&others[i], nameB)
		d.row(r.Number, as[i], bs[i], lack, why)
		if as[i] != nil && bs[i] != nil && *as[i] != *bs[i] {
			flipped := !advantages && (*as[i] >= o.Solved) != (*bs[i] >= o.Solved)
			count(&d.FlippedRows, flipped)
			d.mover(Mover{Row: r.Number, TrajectoryID: r.TrajectoryID, ExampleID: r.ExampleID, Epoch: r.Epoch, Generation: r.Generation, A: *as[i],
				B: *bs[i], Flipped: flipped, OutputA: output(r, o.Reward), OutputB: output(&others[i], nameB), a: r, b: &others[i]}, &o)
		}
	}
	d.Rows += int64(len(rows))
	d.Groups++
	d.flip(Mover{Row: rows[0].Number, TrajectoryID: rows[0].TrajectoryID, ExampleID: rows[0].ExampleID,
		Epoch: rows[0].Epoch}, d.Points[first:], o, !advantages)
	signsA, flatA := signs(as, advantages)
	signsB, flatB := signs(bs, advantages)
	count(&d.FlatA, flatA)
	count(&d.FlatB, flatB)
	count(&d.BecameFlat, flatB && !flatA)
	count(&d.StoppedFlat, flatA && !flatB)
	for i := range rows {
		if as[i] == nil || bs[i] == nil {
			continue
		}
		count(&d.SignFlipped, signsA[i]*signsB[i] < 0)
		count(&d.SignToZero, signsA[i] != 0 && signsB[i] == 0)
		count(&d.SignFrom0, signsA[i] == 0 && signsB[i] != 0)
	}
}

func (d *Difference) row(row int64, a, b *float64, lack, why string) {
	d.Moves.add(a, b)
	switch {
	case a == nil && b != nil:
		d.GainedRows = append(d.GainedRows, row)
		d.GainedFrom[cmp.Or(lack, "no reason")]++
	case a != nil && b == nil:
		d.LostRows = append(d.LostRows, row)
		d.LostTo[cmp.Or(why, "no reason")]++
	case a != nil:
		d.Points = append(d.Points, [2]float64{*a, *b})
		if *a != *b {
			d.MovedRows = append(d.MovedRows, row)
		}
	}
}
