package exporters

import (
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
)

// Walk iterates over the groups of a batch and its tables once for all formats. Close it.
type Walk struct {
	chosen  trainset.Imitated
	top     bool // some format is made from the best members
	rows    bool // some format is made from single rows
	columns formats.FieldNames
	pairs   *trainset.Preferences // nil when no format uses them
	labels  *trainset.Labels
}

// NewWalk returns a walk for some formats. The choice is that of the best members.
func NewWalk(list []Format, choice trainset.Choice, tables formats.Tables) *Walk {
	w := &Walk{chosen: trainset.Imitated{Choice: choice}, columns: tables.Columns, rows: wants(list, Rows), top: wants(list, Top)}
	if wants(list, Pairs) {
		w.pairs = trainset.NewPreferences(tables)
	}
	if wants(list, Labels) {
		w.labels = trainset.NewLabels(tables)
	}
	return w
}

func wants(list []Format, of Source) bool {
	return slices.ContainsFunc(list, func(f Format) bool { return f.Of == of })
}

// Compares returns the names of the tables that formats are made from.
func Compares(list []Format) (tables []string) {
	for _, of := range []Source{Pairs, Labels} {
		if wants(list, of) {
			tables = append(tables, string(of))
		}
	}
	return tables
}

// MadeOf returns the name of the table that a format is made from, "" when it
// is made from the groups themselves.
func (f Format) MadeOf(tables formats.Tables) string {
	if f.Of == Pairs && tables.Pairs != nil || f.Of == Labels && tables.Labels != nil {
		return string(f.Of)
	}
	return ""
}

// Group calls to for every item of a group, from every source. An item with a
// reason gives no row in any format.
func (w *Walk) Group(rows []formats.Trajectory, to func(of Source, x Item, reason string) error) error {
	give := func(of Source, x Item, reason string) error {
		x.Columns = w.columns
		return to(of, x, reason)
	}
	failed := errors.Join(give(Groups, Item{Rows: rows}, ""),
		w.chosen.Each(rows, func(some []formats.Trajectory, reason string) error { return give(Top, Item{Rows: some}, reason) }))
	if w.top {
		w.chosen.Add(rows)
	}
	for i := range rows {
		if w.rows && failed == nil { // a full disk is reported once, not for every row
			failed = give(Rows, Item{Rows: rows[i : i+1]}, "")
		}
	}
	if w.pairs != nil {
		failed = errors.Join(failed, w.pairs.Of(rows, func(p trainset.Preference, reason string) error {
			return give(Pairs, Item{Pair: p, Rows: named(rows, p.ChosenID, p.RejectedID)}, reason)
		}))
	}
	if w.labels != nil {
		failed = errors.Join(failed, w.labels.Of(rows, func(u trainset.Unpaired, reason string) error {
			return give(Labels, Item{Single: u, Rows: named(rows, u.TrajectoryID)}, reason)
		}))
	}
	return failed
}

func named(rows []formats.Trajectory, ids ...string) (out []formats.Trajectory) {
	for i := range rows {
		if slices.Contains(ids, rows[i].TrajectoryID) {
			out = append(out, rows[i])
		}
	}
	return out
}

// Notes returns what to warn of, after the last group.
func (w *Walk) Notes() []string { return w.chosen.Note() }

// End returns an error when tables have rows that the walk did not reach.
func (w *Walk) End() (failed error) {
	if w.pairs != nil {
		failed = w.pairs.End()
	}
	if w.labels != nil {
		failed = errors.Join(failed, w.labels.End())
	}
	return failed
}

// Close releases the tables.
func (w *Walk) Close() {
	if w.pairs != nil {
		w.pairs.Close()
	}
	if w.labels != nil {
		w.labels.Close()
	}
}
