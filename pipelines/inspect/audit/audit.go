// Package audit reads whole datasets and reports faults that would harm training:
// damaged or changed parts, rows that break the rules of package formats, and
// faults that are known from such data. It changes nothing.
//
// It does not check whether a trainer accepts a dataset (the backend's preflight does, with
// submit --dry-run), and it does not repair faults: settings of curate and rollout do.
//
// The list of all checks, and the checks of rows, are in package formats/validate. This
// package makes those that see a whole run: of bytes, inputs, receipts and held-out
// examples. TestEveryCheckFindsItsFault needs a dataset with the fault of each.
package audit

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/storage/fault"
)

// Options select the datasets and the checks.
type Options struct {
	URI  string
	Only []string // names of checks; nil for all
	Skip []string

	Mismatch string   // name of a teacher that gave the log probabilities of the policy itself; "" for none
	HeldOut  []string // URIs of rollouts whose examples must not be trained on
}

// auditor is one run of the audit.
type auditor struct {
	Options
	found   *find.Found
	checks  []validate.Check          // those selected
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
	found, err := find.Find(ctx, o.URI)
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
	if a.Mismatch != "" && a.out.Mismatches == nil {
		return nil, fault.Invalid(o.URI,
			"add it to the trajectories' rewards: rollmill score --reward REWARD --reward '"+o.Mismatch+"*0=teacher:URL,model=NAME'", nil,
			"no scores have signals of a reward %q", o.Mismatch)
	}
	if err := a.together(ctx); err != nil {
		return nil, err
	}
	slices.SortStableFunc(a.out.Findings, func(x, y validate.Finding) int {
		return slices.Index(validate.Severities, x.Severity) - slices.Index(validate.Severities, y.Severity)
	})
	return a.out, nil
}

// The checks that see a whole run.
const (
	checkDamage      = "damage"
	checkChanged     = "changed"
	checkRepeated    = "repeated"
	checkLeak        = "leak"
	checkLeakText    = "leak_text"
	checkResubmitted = "resubmitted"
	checkUnfinished  = "unfinished"
	checkUnnamed     = "unnamed"

	checkMismatch       = "mismatch"
	checkMismatchSlight = "mismatch_slight"
)

// find adds findings of a check, also of one that was not selected.
func (a *auditor) find(check string, found ...validate.Finding) {
	c := &validate.All[slices.IndexFunc(validate.All, named(check))]
	for _, f := range found {
		a.out.Findings = append(a.out.Findings, c.Sign(f, f.URI))
	}
}

func named(check string) func(validate.Check) bool {
	return func(c validate.Check) bool { return c.Name == check }
}

// wants reports whether a check was selected.
func (a *auditor) wants(check string) bool { return slices.ContainsFunc(a.checks, named(check)) }

// findIn adds findings of a check in one dataset, if it was selected.
func (a *auditor) findIn(d *dataset.Dataset, check string, found []validate.Finding) {
	for i := range found {
		found[i].URI = d.URI()
	}
	if a.wants(check) {
		a.find(check, found...)
	}
}

func chosen(o Options) ([]validate.Check, error) {
	checks := validate.In(validate.Audit)
	only, err := validate.Named(checks, o.Only)
	if err != nil {
		return nil, err
	}
	skip, err := validate.Named(checks, o.Skip)
	return slices.DeleteFunc(checks, func(c validate.Check) bool {
		return len(only) > 0 && !only[c.Name] || skip[c.Name]
	}), err
}

// one audits one dataset: its bytes, its inputs, then its rows. In a damaged dataset it also
// checks the rows that can be read, because they can show what happened. A dataset that cannot
// be read is reported even if the check of damage was not selected.
func (a *auditor) one(ctx context.Context, d *dataset.Dataset) error {
	var damage error
	if a.wants(checkDamage) {
		damage = dataset.Verify(ctx, d)
	}
	if damage != nil && !errors.Is(damage, fault.ErrInvalid) {
		return damage
	}
	err := a.look(ctx, d)
	if err != nil && !errors.Is(err, fault.ErrInvalid) {
		return err
	}
	if damage = cmp.Or(damage, err); damage != nil {
		a.damaged[d] = true
		a.find(checkDamage, validate.Finding{URI: d.URI(), What: damage.Error()})
	}
	return nil
}

// look runs the checks of one dataset.
func (a *auditor) look(ctx context.Context, d *dataset.Dataset) error {
	for _, c := range []struct {
		name string
		run  func(context.Context, *dataset.Dataset) error
	}{{checkChanged, a.changed}, {checkUnnamed, a.unnamed}, {checkRepeated, a.repeated}} {
		if !a.wants(c.name) {
			continue
		}
		if err := c.run(ctx, d); err != nil {
			return err
		}
	}
	if err := a.mismatched(ctx, d); err != nil {
		return err
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
	var bad error
	see := doctor.Row
	if _, has := d.Tables[schema.TableGroups]; has && doctor.WantsGroups() {
		bad = advantages.EachGroup(ctx, d, doctor.Group)
	} else if d.Kind == schema.KindTrajectories && d.Stage != "rollout" && a.wants(validate.Flat) {
		var batch *advantages.Batch
		batch, bad = advantages.Of(ctx, d)
		see = func(r *validate.Row) {
			var size training.AdvantageSize
			size.Add(r.Trajectory.Advantage, r.Trajectory.Advantages, r.Trajectory.Losses)
			r.Trains = batch.Of(nil, &size)
			doctor.Row(r)
		}
	}
	wanted, payload := doctor.WantsRows()
	if !wanted {
		return bad
	}
	return cmp.Or(bad, rows(ctx, d, payload, see))
}
