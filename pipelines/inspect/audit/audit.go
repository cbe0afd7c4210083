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
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/heldout"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/storage/fault"
)

// Options select the datasets and the checks.
type Options struct {
	URI  string
	Only []string // names of checks; nil for all
	Skip []string

	Mismatch string          // name of a teacher that gave the log probabilities of the policy itself; "" for none
	HeldOut  heldout.Options // what must not be trained on
	Against  string          // URI of a second record of the attempts of the only rollout or import under URI; "" for none
	Join     string          // see witness.Options
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
