package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/storage/fault"
)

// Basis says how a finding is known.
type Basis string

const (
	Proved   Basis = "proved"   // the rows contradict themselves or their manifest: there is no other explanation
	Inferred Basis = "inferred" // recorded settings or the observed shares suggest it
	Engine   Basis = "engine"   // only the engine can decide: `rollmill check` asks it
)

// Commands are the commands that make a check.
type Commands uint8

const (
	Import Commands = 1 << iota // the report of an import, of the rows of a source
	Audit                       // of complete datasets
	Submit                      // of the rows that preflight reads, for every trainer; its own preflight has further ones
)

// Scope is what a check sees at once.
type Scope uint8

const (
	OneRow Scope = iota
	OneGroup
	AllRows  // of a dataset or of a source
	WholeRun // parts, inputs, further datasets and receipts
)

// Check is one property of rows, groups, datasets or runs, which is a fault or
// limits what the rows can be used for.
type Check struct {
	Name     string
	Severity Severity
	AtImport Severity // in the report of an import, where it is no fault of a dataset; "" for Severity
	Inferred bool     // a finding is inferred, not proved
	In       Commands // that make it
	Sees     Scope
	Payload  bool    // it reads messages, calls or the example
	Share    float64 // of a dataset's rows or groups, up to which it is no finding; an import's report counts each
	Blocks   uses    // what such rows, or the rows of such groups, cannot be used for
	What     string  // what a finding in a dataset says of what it counts; "" for Help
	Help     string  // what is the case: a lower-case phrase
	Hint     string  // what to do

	row   func(*Count, *Row) // counts a row, if it has the fault
	start func() checker     // for checks that remember rows; nil, as row, for those that the command makes itself
}

// Basis returns how the findings of a check are known.
func (c *Check) Basis() Basis {
	if c.Inferred {
		return Inferred
	}
	return Proved
}

// In returns the checks that a command makes, in the order of the list.
func In(command Commands) (out []Check) {
	for i := range All {
		if All[i].In&command != 0 {
			out = append(out, All[i])
		}
	}
	return out
}

// Named returns the names of the checks that have one of these names, in which a
// hyphen is an underscore. It returns an error with a hint for a name of none.
func Named(checks []Check, names []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, name := range names {
		known, plain := false, strings.ReplaceAll(name, "-", "_")
		for i := range checks {
			if c := &checks[i]; c.Name == plain {
				out[c.Name], known = true, true
			}
		}
		if !known {
			names := make([]string, len(checks))
			for i := range checks {
				names[i] = checks[i].Name
			}
			return nil, fault.Errorf(fault.Usage, "the checks are "+strings.Join(names, ", "),
				"there is no check %q", name)
		}
	}
	return out, nil
}

// checker makes one check of the rows of one dataset or source. Most embed a Count.
type checker interface {
	Row(*Row) // sees every row, in order
	counted() *Count
	found(*Check) []Finding // once, after the last row; the doctor signs them
}

// groupChecker is a checker that can see the statistics of groups instead of rows:
// rows of a group may be anywhere.
type groupChecker interface {
	group(*formats.GroupStats, training.Training)
}

// rows makes a check that remembers no row.
type rows struct {
	Count
	count func(*Count, *Row)
}

func (c *rows) Row(r *Row) { c.count(&c.Count, r) }

// checker returns a checker that has seen nothing; nil for a check that the command makes itself.
func (c *Check) checker() checker {
	switch {
	case c.row != nil:
		return &rows{count: c.row}
	case c.start != nil:
		return c.start()
	}
	return nil
}

// Doctor makes checks of rows that the caller reads.
type Doctor struct {
	checks   []Check
	checkers []checker
	rows     []checker // those that see rows
	groups   []groupChecker
}

// NewDoctor returns a doctor that makes these checks, without those that see a whole run.
func NewDoctor(checks []Check) *Doctor {
	d := &Doctor{}
	for i := range checks {
		if c := checks[i].checker(); c != nil {
			d.checks, d.checkers = append(d.checks, checks[i]), append(d.checkers, c)
		}
	}
	d.rows = slices.Clone(d.checkers)
	return d
}

// WantsGroups reports whether any check can see the statistics of groups. From
// then on these checks get no rows.
func (d *Doctor) WantsGroups() bool {
	d.rows = slices.DeleteFunc(d.rows, func(c checker) bool {
		g, is := c.(groupChecker)
		if is {
			d.groups = append(d.groups, g)
		}
		return is
	})
	return len(d.groups) > 0
}

// WantsRows reports whether any other check sees rows, and whether one reads their payload.
func (d *Doctor) WantsRows() (rows, payload bool) {
	return len(d.rows) > 0, slices.ContainsFunc(d.checks, func(c Check) bool { return c.Payload })
}

// Row passes a row to every check that sees rows.
func (d *Doctor) Row(r *Row) {
	for _, c := range d.rows {
		c.Row(r)
	}
}

// Group passes a group's statistics, and what of it trains, to the checks that see them.
func (d *Doctor) Group(s *formats.GroupStats, trains training.Training) {
	for _, c := range d.groups {
		c.group(s, trains)
	}
}

// Found returns the findings of every check. Call it once, after the last row.
func (d *Doctor) Found(uri string) []Finding {
	var out []Finding
	for i := range d.checks {
		for _, f := range d.checkers[i].found(&d.checks[i]) {
			out = append(out, d.checks[i].Sign(f, uri))
		}
	}
	return out
}

// Sign sets the check and the dataset of a finding.
func (c *Check) Sign(f Finding, uri string) Finding {
	f.Check, f.Severity, f.URI = c.Name, c.Severity, uri
	f.Basis = cmp.Or(f.Basis, c.Basis())
	return f
}

// Refuses reports whether a finding makes a batch unusable for every trainer:
// it is an error that the rows prove.
func (f *Finding) Refuses() bool { return f.Basis == Proved && f.Severity.AtLeast(Error) }

// Severity says how serious a finding is.
type Severity string

// From worst to least.
const (
	Damage  Severity = "damage"  // the dataset cannot be trusted
	Error   Severity = "error"   // training on it would be wrong
	Warning Severity = "warning" // training on it would probably be worse than necessary
	Note    Severity = "note"    // worth knowing
)

// Severities lists them, the most serious first.
var Severities = []Severity{Damage, Error, Warning, Note}

// AtLeast reports whether s is as serious as o, or more.
func (s Severity) AtLeast(o Severity) bool {
	return slices.Index(Severities, s) <= slices.Index(Severities, o)
}

// Finding is one fault of one dataset.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Basis    Basis    `json:"basis"` // how it is known
	URI      string   `json:"uri"`
	What     string   `json:"what"`
	Count    int64    `json:"count,omitempty"` // how many rows, groups or messages have it
	Of       int64    `json:"of,omitempty"`    // of how many
	First    []Place  `json:"first,omitempty"` // a few of them
}

// Place is a row that has a fault.
type Place struct {
	Row          int64  `json:"row"`
	TrajectoryID string `json:"trajectory_id,omitempty"` // "" for a group whose rows may be anywhere
	Detail       string `json:"detail,omitempty"`
	Other        *Place `json:"other,omitempty"` // what a second record of the same attempt says
}

func (p Place) String() string {
	s := strings.TrimSuffix(fmt.Sprintf("row %d %s", p.Row, p.TrajectoryID), " ")
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	if p.Other != nil {
		s += "; against " + p.Other.String()
	}
	return s
}
