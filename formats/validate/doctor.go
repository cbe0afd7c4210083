package validate

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Basis says how a finding is known.
type Basis string

const (
	Proved   Basis = "proved"   // the rows contradict themselves or their manifest: there is no other explanation
	Inferred Basis = "inferred" // recorded settings or the observed shares suggest it
	Engine   Basis = "engine"   // only the engine can decide: `rollmill check` asks it
)

// Check is one fault that is looked for in a dataset.
type Check struct {
	Name     string
	Severity Severity
	Basis    Basis
	Help     string // a lower-case phrase
	Payload  bool   // it reads messages, calls or the example
	// ByTrainer: some trainers accept such rows, so each decides itself.
	ByTrainer bool
	New       func() Checker
}

// Checker sees every row of one dataset's main table, in order.
type Checker interface {
	Row(*Row)
	// Found returns the findings. The doctor sets Check, Severity and URI, and
	// Basis where it is not set.
	Found() []Finding
}

// GroupChecker is a Checker that reads the statistics of groups instead of rows,
// if there are any: rows of a group may be anywhere.
type GroupChecker interface {
	Group(*formats.GroupStats)
}

// Doctor runs checks over rows that the caller reads.
type Doctor struct {
	checks   []Check
	checkers []Checker
	rows     []Checker // those that read rows
}

// NewDoctor returns a doctor that runs these checks.
func NewDoctor(checks []Check) *Doctor {
	d := &Doctor{checks: checks}
	for _, c := range checks {
		d.checkers = append(d.checkers, c.New())
	}
	d.rows = slices.Clone(d.checkers)
	return d
}

// TakeGroups returns the checks that can read groups' statistics; from then on
// they get no rows.
func (d *Doctor) TakeGroups() []GroupChecker {
	var out []GroupChecker
	d.rows = slices.DeleteFunc(d.rows, func(c Checker) bool {
		g, is := c.(GroupChecker)
		if is {
			out = append(out, g)
		}
		return is
	})
	return out
}

// WantsRows reports whether any remaining check reads rows.
func (d *Doctor) WantsRows() bool { return len(d.rows) > 0 }

// Row passes a row to every check that reads rows.
func (d *Doctor) Row(r *Row) {
	for _, c := range d.rows {
		c.Row(r)
	}
}

// Found returns the findings of every check. Call it once, after the last row.
func (d *Doctor) Found(uri string) []Finding {
	var out []Finding
	for i, c := range d.checks {
		for _, f := range d.checkers[i].Found() {
			out = append(out, c.Sign(f, uri))
		}
	}
	return out
}

// Sign sets the check and the dataset of a finding.
func (c Check) Sign(f Finding, uri string) Finding {
	f.Check, f.Severity, f.URI = c.Name, c.Severity, uri
	if f.Basis == "" {
		f.Basis = c.Basis
	}
	return f
}

// Refuses reports whether a finding makes a batch unusable for every trainer:
// it is an error that the rows prove.
func (f *Finding) Refuses() bool { return f.Basis == Proved && f.Severity.AtLeast(Error) }
