// Package audit reads whole datasets and reports faults that would harm training:
// damaged or changed parts, rows that break the rules of package formats, and
// faults that are known from such data. It changes nothing.
//
// It does not check whether a trainer accepts a dataset (the backend's preflight
// does, with submit --dry-run), and it does not repair faults: settings of curate
// and rollout do.
//
// The checks of rows are in package formats/validate. A new check goes there, and
// TestEveryCheckFindsItsFault needs a dataset with its fault. This package has the
// checks of datasets: their bytes, their inputs and leaks of held-out examples.
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

// Options select the datasets and the checks.
type Options struct {
	URI  string
	Only []string // names of checks; nil for all
	Skip []string

	HeldOut []string // URIs of rollouts whose examples must not be trained on
}

// auditor is one run of the audit.
type auditor struct {
	Options
	found   *inspect.Found
	checks  []validate.Check
	damaged map[*dataset.Dataset]bool // no further checks are made on these
	sound   map[string]error          // result of verifying a base outside the URI, by its digest
	out     *Result
}

// Run audits every complete dataset under a URI. Damage is a finding, not an error.
// An error means that a dataset could not be checked.
func Run(ctx context.Context, o Options) (*Result, error) {
	checks, err := chosen(o)
	if err != nil {
		return nil, err
	}
	found, err := inspect.Find(ctx, o.URI)
	if err != nil {
		return nil, err
	}
	a := &auditor{o, found, checks, map[*dataset.Dataset]bool{}, map[string]error{}, &Result{Findings: []validate.Finding{}}}
	for _, problem := range found.Problems {
		a.find(checkDamage, validate.Finding{URI: found.Root, What: problem})
	}
	if a.wants(checkUnfinished) {
		for _, what := range found.Unfinished {
			a.find(checkUnfinished, validate.Finding{URI: found.Root, What: what})
		}
	}
	for _, d := range found.Datasets {
		a.out.Datasets = append(a.out.Datasets, Dataset{d.URI(), d.Kind, d.Rows})
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

// find adds findings of a check of datasets.
func (a *auditor) find(check string, found ...validate.Finding) {
	c := Further[slices.IndexFunc(Further, func(c validate.Check) bool { return c.Name == check })]
	for _, f := range found {
		a.out.Findings = append(a.out.Findings, c.Sign(f, f.URI))
	}
}

// wants reports whether a check was selected.
func (o *Options) wants(name string) bool {
	return (len(o.Only) == 0 || slices.Contains(o.Only, name)) && !slices.Contains(o.Skip, name)
}

// findIn adds findings of a check in one dataset.
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

// unknown is the error for a check that does not exist.
type unknown string

func (u unknown) Error() string { return fmt.Sprintf("there is no check %q", string(u)) }
func (u unknown) Hint() string  { return "the checks are " + strings.Join(Names(), ", ") }
func (u unknown) Misused() bool { return true }

// one audits one dataset: its bytes, its inputs, then its rows. In a damaged
// dataset it also checks the rows that can be read, because they can show what
// happened. A dataset that cannot be read is reported even if the check of damage
// was not selected.
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

// look runs the checks of one dataset.
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

// show passes the statistics of groups, if the dataset has them, to the checks of
// groups, and its rows to the other checks.
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

func groups(ctx context.Context, d *dataset.Dataset, checkers []validate.GroupChecker) error {
	if len(checkers) == 0 {
		return nil
	}
	r, err := dataset.NewReader[formats.GroupStats](ctx, d, formats.TableGroups, dataset.Range{Rows: d.Tables[formats.TableGroups].Rows})
	if err != nil {
		return err
	}
	return batches(r, func(_ int64, list []formats.GroupStats) error {
		for i := range list {
			for _, c := range checkers {
				c.Group(&list[i])
			}
		}
		return nil
	})
}
