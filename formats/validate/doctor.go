package validate

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Basis says how a verdict is known.
type Basis string

const (
	Proved   Basis = "proved"   // the rows contradict themselves or their manifest: nothing else can explain it
	Inferred Basis = "inferred" // recorded settings or the shares of what was seen suggest it
	Engine   Basis = "engine"   // only the engine can tell: `rollmill check` asks it
)

// Check is one fault to look for in a dataset.
type Check struct {
	Name     string
	Severity Severity
	Basis    Basis
	Help     string // a lower-case phrase
	Payload  bool   // it reads messages, calls or the example
	// ByTrainer: some trainers can take such rows, so each decides for itself.
	ByTrainer bool
	New       func() Looker
}

// Looker sees every row of one dataset's main table, in order.
type Looker interface {
	Row(*Row)
	// Found returns what it found. The doctor fills in Check, Severity and
	// URI, and Basis where it is not set.
	Found() []Finding
}

// GroupLooker is a Looker that takes the statistics of groups in place of rows,
// where there are some: rows of a group may lie anywhere.
type GroupLooker interface {
	Group(*formats.GroupStats)
}

// Doctor makes checks of rows that its user reads.
type Doctor struct {
	checks  []Check
	lookers []Looker
	rows    []Looker // those that want rows
}

// NewDoctor returns a doctor that makes these checks.
func NewDoctor(checks []Check) *Doctor {
	d := &Doctor{checks: checks}
	for _, c := range checks {
		d.lookers = append(d.lookers, c.New())
	}
	d.rows = slices.Clone(d.lookers)
	return d
}

// TakeGroups returns the checks that want groups' statistics and shows them
// no more rows.
func (d *Doctor) TakeGroups() []GroupLooker {
	var out []GroupLooker
	d.rows = slices.DeleteFunc(d.rows, func(l Looker) bool {
		g, is := l.(GroupLooker)
		if is {
			out = append(out, g)
		}
		return is
	})
	return out
}

// WantsRows reports whether any check is left that wants rows.
func (d *Doctor) WantsRows() bool { return len(d.rows) > 0 }

// Row shows a row to every check that wants rows.
func (d *Doctor) Row(r *Row) {
	for _, l := range d.rows {
		l.Row(r)
	}
}

// Found returns the findings of every check, once, after the last row.
func (d *Doctor) Found(uri string) []Finding {
	var out []Finding
	for i, c := range d.checks {
		for _, f := range d.lookers[i].Found() {
			out = append(out, c.Sign(f, uri))
		}
	}
	return out
}

// Sign says which check made a finding, and of what.
func (c Check) Sign(f Finding, uri string) Finding {
	f.Check, f.Severity, f.URI = c.Name, c.Severity, uri
	if f.Basis == "" {
		f.Basis = c.Basis
	}
	return f
}

// Refuses reports whether a finding makes a batch unfit for every trainer: an
// error that the rows prove.
func (f *Finding) Refuses() bool { return f.Basis == Proved && f.Severity.AtLeast(Error) }
