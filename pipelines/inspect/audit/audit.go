// Package audit reads datasets whole and says what would spoil training: parts
// that are damaged or were changed, rows that break what package formats
// promises, and the troubles that teams report of such data. It changes
// nothing.
//
// Whether a trainer can take a dataset is the backend's preflight (submit
// --dry-run); what to do about a trouble is curate's and rollout's matter.
//
// To add a check: a Looker in a file here, a line in Checks, and a dataset that
// has the trouble in TestEveryCheckFinds.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/inspect"
)

// Severity says how bad a finding is.
type Severity string

// From worst to least.
const (
	Damage  Severity = "damage"  // the dataset cannot be trusted at all
	Error   Severity = "error"   // training on it would go wrong
	Warning Severity = "warning" // it probably would be worse than it could be
	Note    Severity = "note"    // worth knowing
)

// Severities lists them, the worst first.
var Severities = []Severity{Damage, Error, Warning, Note}

// AtLeast tells whether s is as bad as o, or worse.
func (s Severity) AtLeast(o Severity) bool {
	return slices.Index(Severities, s) <= slices.Index(Severities, o)
}

// Finding is one trouble of one dataset.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	URI      string   `json:"uri"`
	What     string   `json:"what"`
	Count    int64    `json:"count,omitempty"` // how many rows, groups or messages have it
	Of       int64    `json:"of,omitempty"`    // of how many
	First    []Place  `json:"first,omitempty"` // a few of them
}

// Place is a row that has a trouble.
type Place struct {
	Row          int64  `json:"row"`
	TrajectoryID string `json:"trajectory_id"`
	Detail       string `json:"detail,omitempty"`
}

// Audited is what was looked at and found.
type Audited struct {
	Datasets []Looked  `json:"datasets"`
	Findings []Finding `json:"findings"` // the worst first, then by dataset and check
}

// Looked is a dataset that was read.
type Looked struct {
	URI  string       `json:"uri"`
	Kind formats.Kind `json:"kind"`
	Rows int64        `json:"rows"`
}

// Worst is the severity of the worst finding, or "".
func (a *Audited) Worst() Severity {
	if len(a.Findings) == 0 {
		return ""
	}
	return a.Findings[0].Severity
}

// Options say where to look, and for what.
type Options struct {
	URI  string
	Only []string // names of checks; nil for all
	Skip []string
}

// Check is one trouble to look for in every dataset.
type Check struct {
	Name     string
	Severity Severity
	Help     string // a lower-case phrase
	New      func() Looker
}

// Looker sees every row of one dataset's main table, in order.
type Looker interface {
	Row(*Row)
	// Found returns what it found; Check, Severity and URI are filled in.
	Found() []Finding
}

// Run audits every complete dataset under a URI. Damage is a finding like
// others; the error is for what cannot be looked at.
func Run(ctx context.Context, o Options) (*Audited, error) {
	checks, err := chosen(o)
	if err != nil {
		return nil, err
	}
	found, err := inspect.Find(ctx, o.URI)
	if err != nil {
		return nil, err
	}
	a := &Audited{Findings: []Finding{}}
	for _, d := range found.Datasets {
		a.Datasets = append(a.Datasets, Looked{d.URI(), d.Kind, d.Rows})
		findings, err := one(ctx, d, checks)
		if err != nil {
			return nil, err
		}
		a.Findings = append(a.Findings, findings...)
	}
	more, err := together(ctx, found, o)
	if err != nil {
		return nil, err
	}
	a.Findings = append(a.Findings, more...)
	slices.SortStableFunc(a.Findings, func(x, y Finding) int {
		return slices.Index(Severities, x.Severity) - slices.Index(Severities, y.Severity)
	})
	return a, nil
}

// wants tells whether a check was asked for.
func (o *Options) wants(name string) bool {
	return (len(o.Only) == 0 || slices.Contains(o.Only, name)) && !slices.Contains(o.Skip, name)
}

func chosen(o Options) ([]Check, error) {
	names := Names()
	for _, name := range slices.Concat(o.Only, o.Skip) {
		if !slices.Contains(names, name) {
			return nil, unknown(name)
		}
	}
	var out []Check
	for _, c := range Checks {
		if o.wants(c.Name) {
			out = append(out, c)
		}
	}
	return out, nil
}

// unknown is a check that is none.
type unknown string

func (u unknown) Error() string { return fmt.Sprintf("there is no check %q", string(u)) }
func (u unknown) Hint() string  { return "the checks are " + strings.Join(Names(), ", ") }
func (u unknown) Misused() bool { return true }

// one audits one dataset: its bytes, then its rows. A damaged one's rows are
// not looked at.
func one(ctx context.Context, d *dataset.Dataset, checks []Check) ([]Finding, error) {
	damage := func(err error) ([]Finding, error) {
		if !errors.Is(err, formats.ErrInvalid) {
			return nil, err
		}
		return []Finding{{Check: checkDamage, Severity: Damage, URI: d.URI(), What: err.Error()}}, nil
	}
	if err := dataset.Verify(ctx, d); err != nil {
		return damage(err)
	}
	lookers := make([]Looker, len(checks))
	for i, c := range checks {
		lookers[i] = c.New()
	}
	findings, err := changed(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := rows(ctx, d, func(r *Row) {
		for _, l := range lookers {
			l.Row(r)
		}
	}); err != nil {
		return damage(err)
	}
	for i, c := range checks {
		for _, f := range lookers[i].Found() {
			f.Check, f.Severity, f.URI = c.Name, c.Severity, d.URI()
			findings = append(findings, f)
		}
	}
	return findings, nil
}
