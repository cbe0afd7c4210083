// Package audit reads datasets whole and says what would spoil training: parts
// that are damaged or were changed, rows that break what package formats
// promises, and the faults that teams report of such data. It changes
// nothing.
//
// Whether a trainer can take a dataset is the backend's preflight (submit
// --dry-run); what to do about a fault is curate's and rollout's matter.
//
// The checks of rows are package formats/validate's, where one more is added;
// TestEveryCheckFinds wants a dataset that has its fault. Here are the checks
// of datasets: their bytes, their inputs, their leaks.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/inspect"
)

// Options say where to look, and for what.
type Options struct {
	URI  string
	Only []string // names of checks; nil for all
	Skip []string

	HeldOut []string // rollouts, wherever they lie, whose examples must not be trained on
}

// auditor is one run.
type auditor struct {
	Options
	found   *inspect.Found
	checks  []validate.Check
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
	a := &auditor{o, found, checks, map[*dataset.Dataset]bool{}, map[string]error{}, &Audited{Findings: []validate.Finding{}}}
	for _, problem := range found.Problems {
		a.find(checkDamage, validate.Finding{URI: found.Root, What: problem})
	}
	if a.wants(checkUnfinished) {
		for _, what := range found.Unfinished {
			a.find(checkUnfinished, validate.Finding{URI: found.Root, What: what})
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
	slices.SortStableFunc(a.out.Findings, func(x, y validate.Finding) int {
		return slices.Index(validate.Severities, x.Severity) - slices.Index(validate.Severities, y.Severity)
	})
	return a.out, nil
}

// find adds what a check of datasets found.
func (a *auditor) find(check string, found ...validate.Finding) {
	c := Further[slices.IndexFunc(Further, func(c validate.Check) bool { return c.Name == check })]
	for _, f := range found {
		a.out.Findings = append(a.out.Findings, c.Sign(f, f.URI))
	}
}

// wants tells whether a check was asked for.
func (o *Options) wants(name string) bool {
	return (len(o.Only) == 0 || slices.Contains(o.Only, name)) && !slices.Contains(o.Skip, name)
}

// findIn adds what a check of datasets found in one.
func (a *auditor) findIn(d *dataset.Dataset, check string, found []validate.Finding) {
	for i := range found {
		found[i].URI = d.URI()
	}
	if a.wants(check) {
		a.find(check, found...)
	}
}

func chosen(o Options) ([]validate.Check, error) {
	names := Names()
	for _, name := range slices.Concat(o.Only, o.Skip) {
		if !slices.Contains(names, name) {
			return nil, unknown(name)
		}
	}
	var out []validate.Check
	for _, c := range validate.Checks {
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

// one audits one dataset: its bytes, what it was made from, then its rows. Of
// a damaged one, the rows that can be read are looked at too: what was changed
// in them says what happened. That one cannot be read is said even when nobody
// asked.
func (a *auditor) one(ctx context.Context, d *dataset.Dataset) error {
	damage := a.verify(ctx, d)
	if damage != nil && !errors.Is(damage, formats.ErrInvalid) {
		return damage
	}
	err := a.look(ctx, d)
	if err != nil && !errors.Is(err, formats.ErrInvalid) {
		return err
	}
	if damage = cmp.Or(damage, err); damage != nil {
		a.damaged[d] = true
		a.find(checkDamage, validate.Finding{URI: d.URI(), What: damage.Error()})
	}
	return nil
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
	if a.wants(checkUnnamed) {
		if err := a.unnamed(ctx, d); err != nil {
			return err
		}
	}
	if a.wants(checkRepeated) {
		if err := a.repeated(ctx, d); err != nil {
			return err
		}
	}
	doctor := validate.NewDoctor(a.checks)
	if err := a.show(ctx, d, doctor); err != nil {
		return err
	}
	a.out.Findings = append(a.out.Findings, doctor.Found(d.URI())...)
	return nil
}

// show shows a dataset to the checks of groups, where it has statistics of
// them, and its rows to the others.
func (a *auditor) show(ctx context.Context, d *dataset.Dataset, doctor *validate.Doctor) error {
	if _, has := d.Tables[formats.TableGroups]; has {
		if err := groups(ctx, d, doctor.TakeGroups()); err != nil {
			return err
		}
	}
	if !doctor.WantsRows() {
		return nil
	}
	payload := slices.ContainsFunc(a.checks, func(c validate.Check) bool { return c.Payload })
	return rows(ctx, d, payload, doctor.Row)
}

func groups(ctx context.Context, d *dataset.Dataset, lookers []validate.GroupLooker) error {
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
