package show

import (
	"context"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/storage/fault"
)

// usual are the columns that are shown of each kind of row and of each further
// table: the ids, and light columns worth seeing. All columns are shown of any
// other.
var usual = map[string]string{
	string(schema.KindTrajectories): "trajectory_id example_id epoch generation status stop_reason failure_class error " +
		"sampled_tokens reward advantage answer",
	string(schema.KindScores): "trajectory_id example_id epoch generation status reward failure error",
	string(schema.KindGroups): "trajectory_id group_id generation status reward advantage no_advantage",
	schema.TableGroups:        "group_id count valid mean std_pop min max solved",
	schema.TableDecisions:     "trajectory_id group_id generation kept reason detail",
	schema.TablePairs: "group_id turn chosen_id chosen_index rejected_id rejected_index chosen_score " +
		"rejected_score margin chosen rejected",
	schema.TableLabels:     "trajectory_id group_id generation desirable reward completion",
	schema.TablePlan:       "example_id epoch first_generation generations reason count valid failed solved std_pop forked_from fork_call",
	schema.TableWorkspaces: "trajectory_id piece runtime image_digest digest size paths left_out",
	schema.TableExamples:   "example_id policy_version attempts failed scored passes mean std_pop completion_tokens last_epoch",
}

// eachSelected calls f with the requested columns of each selected row.
func eachSelected(ctx context.Context, d *dataset.Dataset, o Options, f func(Row) error) error {
	total := d.AllOf(o.Table).Rows
	if o.First < 0 || o.First > total {
		return fault.Invalid(d.URI(), "rows count from 0", nil, "row %d is not among its %d", o.First, total)
	}
	names := o.columns(d.Kind)
	if len(o.Columns) == 0 && !slices.Contains(names, o.Sort) && hasColumn(schema.KindTrajectories, o.Sort) {
		names = slices.Insert(slices.Clone(names), 1, o.Sort)
	}
	if o.Where == "" && o.Sort == "" && !o.Failed {
		first := dataset.Range{First: o.First, Rows: min(total-o.First, int64(o.Rows))} // also of none, a column must exist
		return EachRow(ctx, d, o.Table, names, first, f)
	}
	rows, err := matching(ctx, d, o)
	if err != nil {
		return err
	}
	for near := range query.Near(rows, maxGap) {
		if err := EachRow(ctx, d, o.Table, names, query.RangeOf(near), func(row Row) error {
			if _, wanted := slices.BinarySearch(near, row.Row); wanted {
				return f(row)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// maxGap is the number of rows between two that are read together: a page has more.
const maxGap = 64

// matching returns the first rows for which the condition is true, as many as are requested,
// in the order of the dataset or sorted.
func matching(ctx context.Context, d *dataset.Dataset, o Options) ([]int64, error) {
	if o.Table != "" {
		return nil, fault.Errorf(fault.Usage, "leave out --table",
			"--where, --sort and --failed are about trajectories, and not rows of table %s", o.Table)
	}
	q, err := query.Parse(o.Where, o.Sort, o.Desc)
	if err != nil {
		return nil, err
	}
	if o.Failed && q.Where == "" && q.Order.By == "" {
		return failed(ctx, d, o)
	}
	if o.Failed {
		q.Choices = map[string]string{"status": outcomes.StatusFailed}
	}
	return query.First(ctx, d, q, o.First, o.Rows)
}

// failed returns the first rows that failed. It needs no base.
func failed(ctx context.Context, d *dataset.Dataset, o Options) (rows []int64, err error) {
	for r, err := range query.Rows(ctx, d, query.Query{}, "status") {
		if err != nil || len(rows) == o.Rows {
			return rows, err
		}
		if r.Number >= o.First && r.Status == outcomes.StatusFailed {
			rows = append(rows, r.Number)
		}
	}
	return rows, nil
}

// columns returns the names of the columns to show, none for all.
func (o Options) columns(kind schema.Kind) []string {
	switch {
	case slices.Contains(o.Columns, "all"):
		return nil
	case len(o.Columns) > 0:
		return o.Columns
	case o.Table != "":
		return strings.Fields(usual[o.Table])
	}
	return strings.Fields(usual[string(kind)])
}
