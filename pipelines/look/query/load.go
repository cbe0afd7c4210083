package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Record is a whole trajectory with all that is known of it: its rewards are those of
// the scores, and its advantage that of its group.
type Record struct {
	formats.Trajectory
	Is     Trajectory // its row in the index, with the decision and why values are null
	Detail string     // of the decision, if curate dropped it
}

// Trajectory reads a whole trajectory. An id that the dataset does not have is
// storage.ErrNotExist.
func (x *Index) Trajectory(ctx context.Context, id string) (*Record, error) {
	row, ok := x.Find(id)
	if !ok {
		return nil, fault.Invalid(x.From.Rows.URI(), "the list of trajectories has their ids", storage.ErrNotExist,
			"it has no trajectory %q", id)
	}
	out, err := x.Records(ctx, []uint32{row})
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}

// Records reads rows whole, adjacent ones together. Rows ascend.
func (x *Index) Records(ctx context.Context, rows []uint32) ([]Record, error) {
	out := make([]Record, 0, len(rows))
	from := joined.Source{Rows: cmp.Or(x.From.Scores, x.From.Members, x.From.Base), Base: x.From.Base} // thin rows have the rewards
	for near := range Near(rows, 1) {
		for t, err := range from.Each(ctx, RangeOf(near), joined.Whole) {
			if err != nil {
				return nil, err
			}
			out = append(out, Record{Trajectory: *t, Is: x.At(rows[len(out)])})
			x.join(&out[len(out)-1])
		}
	}
	return out, x.details(ctx, out)
}

// join sets what groups say of a trajectory, which the index has.
func (x *Index) join(r *Record) {
	if x.From.Members == nil {
		return
	}
	r.GroupID, r.Advantage = r.Is.Group, nil
	if a := r.Is.Advantage; a == a { // not NaN
		r.Trajectory.Advantage = &a
	}
}

// maxBetween is how many rows of decisions that are not needed are read rather than
// asked for the next one that is.
const maxBetween = 1000

// details reads the details of decisions to drop trajectories, near ones together.
func (x *Index) details(ctx context.Context, records []Record) error {
	dropped := map[int64]*Record{} // by row of the decision
	for i := range records {
		is := records[i].Is
		if is.Decision == "" || is.Decision == Kept {
			continue
		}
		row := int64(is.Row)
		if x.decisionRow != nil {
			row = int64(x.decisionRow[row])
		}
		dropped[row] = &records[i]
	}
	type decision struct {
		Detail string `parquet:"detail,optional"`
	}
	for near := range Near(slices.Sorted(maps.Keys(dropped)), maxBetween) {
		row := near[0]
		for d, err := range dataset.Each[decision](ctx, x.From.Decisions, schema.TableDecisions, RangeOf(near)) {
			if err != nil {
				return err
			}
			if r := dropped[row]; r != nil {
				r.Detail = strings.Clone(d.Detail)
			}
			row++
		}
	}
	return nil
}
