package exporters

import (
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/trl"
)

// Walk goes along the groups of a batch and the tables beside them, once for
// all formats. Close it.
type Walk struct {
	best   int
	pairs  *trl.Preferences // nil when no format wants any
	labels *trl.Labels
}

// NewWalk begins a walk for some formats. best is how many of a group's members
// are its Top: 0 is one, below 0 all.
func NewWalk(list []Format, best int, beside formats.Tables) *Walk {
	w := &Walk{best: best}
	if wants(list, Pairs) {
		w.pairs = trl.NewPreferences(beside)
	}
	if wants(list, Labels) {
		w.labels = trl.NewLabels(beside)
	}
	return w
}

func wants(list []Format, of Source) bool {
	return slices.ContainsFunc(list, func(f Format) bool { return f.Of == of })
}

// Compares names the tables beside the groups that formats are made of.
func Compares(list []Format) (tables []string) {
	for _, of := range []Source{Pairs, Labels} {
		if wants(list, of) {
			tables = append(tables, string(of))
		}
	}
	return tables
}

// MadeOf names the table beside the groups that a format is made of, "" when it
// is made of the groups themselves.
func (f Format) MadeOf(beside formats.Tables) string {
	if f.Of == Pairs && beside.Pairs != nil || f.Of == Labels && beside.Labels != nil {
		return string(f.Of)
	}
	return ""
}

// Group gives what a group holds, of every source. An item with a reason can
// give no row of any format.
func (w *Walk) Group(rows []formats.Trajectory, give func(of Source, x Item, reason string) error) error {
	failed := errors.Join(give(Groups, Item{Rows: rows}, ""), trl.EachTop(rows, w.best, func(some []formats.Trajectory) error {
		return give(Top, Item{Rows: some}, "")
	}))
	if w.pairs != nil {
		failed = errors.Join(failed, w.pairs.Of(rows, func(p trl.Preference, reason string) error { return give(Pairs, Item{Pair: p}, reason) }))
	}
	if w.labels != nil {
		failed = errors.Join(failed, w.labels.Of(rows, func(u trl.Unpaired, reason string) error { return give(Labels, Item{Single: u}, reason) }))
	}
	return failed
}

// End reports whether the walk saw all of the tables.
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
