package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/jsontext"
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
	schema.TableLabels:   "trajectory_id group_id generation desirable reward completion",
	schema.TablePlan:     "example_id epoch first_generation generations reason count valid failed solved std_pop forked_from fork_call",
	schema.TableExamples: "example_id policy_version attempts failed scored passes mean std_pop completion_tokens last_epoch",
}

// sparse are the texts that most rows do not have. JSON leaves them out of these
// rows; any other null text is empty there, and other nulls are null.
var sparse = []string{"failure_class", "error", "failure", "no_advantage", "reason", "detail", "turn"}

const (
	allColumns = "all"
)

// Row is a row of a table.
type Row struct {
	Row int64  `json:"row"` // its number
	Is  Values `json:"is"`
}

// Values are columns of a row in order. As JSON they are an object.
type Values []Value

// Value is a column of a row. Its value is a text, a boolean, a number, a pointer
// to one of a nullable column, a list ([]any) or a group of columns (Values).
type Value struct {
	Name  string
	Value any
}

// EachRow calls f with columns of the rows of a range. A thin
// dataset also has the columns of its base. It returns an error for a table or a column
// that does not exist.
//
// It reads columns by name and has no row types, so that only the columns shown
// are fetched, and those of a newer version can be shown. Package arrow does not
// serve here: it makes batches of one fixed schema from rows in memory.
func EachRow(ctx context.Context, d *dataset.Dataset, table string, names []string, of dataset.Range,
	f func(Row) error) error {
	own, ofBase := split(d, table, names)
	r, err := dataset.NewColumnReader(ctx, d, table, of, own)
	if err != nil {
		return err
	}
	defer r.Close()
	var more *dataset.Reader[reflect.Value]
	if len(ofBase) > 0 {
		s, err := joined.Of(ctx, d)
		if err != nil {
			return err
		}
		if more, err = dataset.NewColumnReader(ctx, s.Base, "", of, ofBase); err != nil {
			return err
		}
		defer more.Close()
	}
	one := make([]reflect.Value, 1)
	for row := of.First; ; row++ {
		if _, err := r.Read(one); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		is := valuesOf(one[0])
		if more != nil {
			if _, err := more.Read(one); err != nil {
				return err
			}
			both := append(is, valuesOf(one[0])...)
			is = nil
			for _, name := range names {
				is = append(is, Value{name, both.Of(name)})
			}
		}
		if len(names) == 0 && table == "" {
			is.asDocumented(d.Kind)
		}
		if err := f(Row{row, is}); err != nil {
			return err
		}
	}
}

// split splits columns into those of the dataset, always some, and those of its base. The
// advantages of a base were made of other rewards than scores have.
func split(d *dataset.Dataset, table string, names []string) (own, ofBase []string) {
	if table != "" || d.Base == nil || len(names) == 0 {
		return names, nil
	}
	own = []string{"trajectory_id"}
	for _, name := range names {
		if name != "advantage" && hasColumn(schema.KindTrajectories, name) && !hasColumn(d.Kind, name) {
			ofBase = append(ofBase, name)
		} else {
			own = append(own, name)
		}
	}
	if len(ofBase) == 0 {
		return names, nil
	}
	return own, ofBase
}

func hasColumn(kind schema.Kind, name string) bool {
	return slices.ContainsFunc(schema.Columns(kind), func(c schema.Column) bool {
		return c.Path == name || strings.HasPrefix(c.Path, name+".")
	})
}

// asDocumented orders the columns of a row as their documentation does: a file may
// have others first (see package parquet). Columns of a newer version are the last.
func (v Values) asDocumented(kind schema.Kind) {
	place, columns := map[string]int{}, schema.Columns(kind)
	for i, c := range columns {
		name, _, _ := strings.Cut(c.Path, ".")
		place[name] = i - len(columns)
	}
	slices.SortStableFunc(v, func(a, b Value) int { return cmp.Compare(place[a.Name], place[b.Name]) })
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
	case slices.Contains(o.Columns, allColumns):
		return nil
	case len(o.Columns) > 0:
		return o.Columns
	case o.Table != "":
		return strings.Fields(usual[o.Table])
	}
	return strings.Fields(usual[string(kind)])
}

// valuesOf returns the fields of a struct with columns of a file.
func valuesOf(v reflect.Value) Values {
	var out Values
	for i, f := range schema.FieldsOf(v.Type()) { // each field has a column
		out = append(out, Value{f.Name, valueOf(v.Field(i))})
	}
	return out
}

func valueOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Struct:
		return valuesOf(v)
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = valueOf(v.Index(i))
		}
		return list
	}
	if text, is := v.Interface().(*string); is {
		if text == nil {
			return ""
		}
		return *text
	}
	return v.Interface()
}

// Of returns the value of a column, nil if it is not there.
func (c Values) Of(name string) any {
	for _, v := range c {
		if v.Name == name {
			return v.Value
		}
	}
	return nil
}

// MarshalJSON writes an object.
func (c Values) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for _, v := range c {
		if v.Value == "" && slices.Contains(sparse, v.Name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsontext.AppendString(out, v.Name), ':')
		var err error
		if out, err = jsontext.Append(out, v.Value); err != nil {
			return nil, fmt.Errorf("column %s: %w", v.Name, err)
		}
	}
	return append(out, '}'), nil
}
