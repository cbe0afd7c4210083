package query

import (
	"context"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// readThin adds the rewards of scores, or the groups, advantages and rewards of members,
// whose rewards are left out if the user named the scores. idsTo returns the ids up to that of a
// row, nil if the base cannot be read as far.
func (x *Index) readThin(ctx context.Context, d *dataset.Dataset, idsTo func(row uint32) *ids) error {
	if d == nil {
		return nil
	}
	grouped, at := d == x.From.Members, uint32(0)
	for r, err := range rowsOf(ctx, d, d, x.From.rows(), thinColumns) {
		if err != nil {
			return err
		}
		base := idsTo(at)
		if base == nil {
			return nil
		}
		if !base.is(at, r.TrajectoryID) {
			return fault.Invalid(d.URI(), "make the dataset again", nil,
				"it is about trajectory %s, which is not that of its base's row", r.TrajectoryID).InRow(int64(at))
		}
		if !grouped || x.From.Scores == nil {
			x.setRewards(at, r.Reward, r.Rewards)
		}
		if grouped {
			x.groups.add(r.GroupID)
			x.advantage[at] = number(r.Advantage)
			x.noAdvantage.add(r.NoAdvantage)
		} else {
			x.unscored.add(r.Failure)
		}
		at++
	}
	return nil
}

// readDecisions adds what curate decided. The rows of its table are those of its input
// in order, unless it had several.
func (x *Index) readDecisions(ctx context.Context) error {
	type row struct {
		TrajectoryID string `parquet:"trajectory_id"`
		Kept         bool   `parquet:"kept"`
		Reason       string `parquet:"reason,optional,dict"`
	}
	d := x.From.Decisions
	if d == nil {
		return nil
	}
	decided := make([]uint32, x.Rows) // numbers in x.drop
	x.drop.numberOf("")
	var sorted []uint32
	at := int64(-1)
	for r, err := range dataset.Each[row](ctx, d, schema.TableDecisions, d.AllOf(schema.TableDecisions)) {
		if err != nil {
			return err
		}
		at++
		to := at
		if at >= int64(x.Rows) || !x.ids.is(uint32(at), r.TrajectoryID) {
			if sorted == nil {
				sorted = x.byID()
				x.decisionRow = ascending(x.Rows)
			}
			if to = x.ids.within(sorted, r.TrajectoryID); to < 0 {
				continue // of another dataset
			}
			x.decisionRow[to] = uint32(at)
		}
		reason := r.Reason
		if r.Kept {
			reason = Kept
		}
		decided[to] = x.drop.numberOf(reason)
	}
	for _, n := range decided {
		x.drop.add(x.drop.values[n])
	}
	return nil
}
