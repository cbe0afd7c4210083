// Package audit reads datasets whole and says what would spoil training: parts
// that are damaged or were changed, rows that break what package formats
// promises, and the troubles that teams report of such data. It changes
// nothing.
//
// Whether a trainer can take a dataset is the backend's preflight (submit
// --dry-run); what to do about a trouble is curate's and rollout's matter.
//
// To add a check: a Looker in a file here, a line in Checks, and in
// TestEveryCheckFinds a dataset that has the trouble. A Looker sees each row
// once and keeps little of it: counts, a group's members, a few places. Say
// whether it needs the payload, so that who asks for that check alone does not
// pay for reading it. A share that is normal in small numbers is a trouble from
// a threshold on; the severity says how sure it is that training suffers.
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
	Payload  bool   // it looks into messages, calls or the example
	New      func() Looker
}

// Looker sees every row of one dataset's main table, in order.
type Looker interface {
	Row(*Row)
	// Found returns what it found; Check, Severity and URI are filled in.
	Found() []Finding
}

// groupLooker is a Looker that wants the statistics of groups instead of the
// rows, where there are some: rows of a group may lie anywhere.
type groupLooker interface {
	Group(*formats.GroupStats)
}

// auditor is one run.
type auditor struct {
	Options
	found   *inspect.Found
	checks  []Check
	damaged map[*dataset.Dataset]bool // nothing more is asked of these
	sound   map[string]error          // what was said of a base that lies elsewhere, by its digest
	out     *Audited
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
	a := &auditor{o, found, checks, map[*dataset.Dataset]bool{}, map[string]error{}, &Audited{Findings: []Finding{}}}
	for _, trouble := range found.Troubles {
		a.add(Finding{Check: checkDamage, Severity: Damage, URI: found.Root, What: trouble})
	}
	if a.wants(checkUnfinished) {
		for _, what := range found.Unfinished {
			a.add(Finding{Check: checkUnfinished, Severity: Note, URI: found.Root, What: what})
		}
	}
	for _, d := range found.Datasets {
		a.out.Datasets = append(a.out.Datasets, Looked{d.URI(), d.Kind, d.Rows})
		if err := a.one(ctx, d); err != nil {
			return nil, err
		}
	}
	if err := a.together(ctx); err != nil {
		return nil, err
	}
	slices.SortStableFunc(a.out.Findings, func(x, y Finding) int {
		return slices.Index(Severities, x.Severity) - slices.Index(Severities, y.Severity)
	})
	return a.out, nil
}

func (a *auditor) add(f ...Finding) { a.out.Findings = append(a.out.Findings, f...) }

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

// one audits one dataset: its bytes, what it was made from, then its rows. A
// damaged one's rows are not looked at; that one cannot be read is said even
// when nobody asked.
func (a *auditor) one(ctx context.Context, d *dataset.Dataset) error {
	err := a.verify(ctx, d)
	if err == nil {
		err = a.look(ctx, d)
	}
	if errors.Is(err, formats.ErrInvalid) {
		a.damaged[d] = true
		a.add(Finding{Check: checkDamage, Severity: Damage, URI: d.URI(), What: err.Error()})
		return nil
	}
	return err
}

func (a *auditor) verify(ctx context.Context, d *dataset.Dataset) error {
	if !a.wants(checkDamage) {
		return nil
	}
	return dataset.Verify(ctx, d)
}

// look makes the checks of one dataset.
func (a *auditor) look(ctx context.Context, d *dataset.Dataset) error {
	if a.wants(checkChanged) {
		if err := a.changed(ctx, d); err != nil {
			return err
		}
	}
	if a.wants(checkRepeated) {
		if err := a.repeated(ctx, d); err != nil {
			return err
		}
	}
	lookers := make([]Looker, len(a.checks))
	for i, c := range a.checks {
		lookers[i] = c.New()
	}
	if err := a.show(ctx, d, lookers); err != nil {
		return err
	}
	for i, c := range a.checks {
		for _, f := range lookers[i].Found() {
			f.Check, f.Severity, f.URI = c.Name, c.Severity, d.URI()
			a.add(f)
		}
	}
	return nil
}

// show shows a dataset to those who look at its groups, and to the others.
func (a *auditor) show(ctx context.Context, d *dataset.Dataset, lookers []Looker) error {
	ofRows := lookers
	if _, has := d.Tables[formats.TableGroups]; has {
		var ofGroups []groupLooker
		ofRows = slices.DeleteFunc(slices.Clone(lookers), func(l Looker) bool {
			g, is := l.(groupLooker)
			if is {
				ofGroups = append(ofGroups, g)
			}
			return is
		})
		if err := groups(ctx, d, ofGroups); err != nil {
			return err
		}
	}
	if len(ofRows) == 0 {
		return nil
	}
	payload := slices.ContainsFunc(a.checks, func(c Check) bool { return c.Payload })
	return rows(ctx, d, payload, func(r *Row) {
		for _, l := range ofRows {
			l.Row(r)
		}
	})
}

func groups(ctx context.Context, d *dataset.Dataset, lookers []groupLooker) error {
	if len(lookers) == 0 {
		return nil
	}
	r, err := dataset.NewReader[formats.GroupStats](ctx, d, formats.TableGroups, dataset.Range{Rows: d.Tables[formats.TableGroups].Rows})
	if err != nil {
		return err
	}
	return batches(r, func(_ int64, list []formats.GroupStats) error {
		for i := range list {
			for _, l := range lookers {
				l.Group(&list[i])
			}
		}
		return nil
	})
}
