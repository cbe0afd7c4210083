package audit

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// The checks that see a whole run.
const (
	checkDamage      = "damage"
	checkChanged     = "changed"
	checkRepeated    = "repeated"
	checkLeak        = "leak"
	checkLeakText    = "leak_text"
	checkLeakWords   = "leak_words"
	checkLeakShort   = "leak_short"
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
	for name := range only {
		if strings.HasPrefix(name, "witness_") && o.Against == "" {
			return nil, fault.Errorf(fault.Usage, "name a second record of the attempts: --against URI",
				"--only %s compares two records", name)
		}
	}
	skip, err := validate.Named(checks, o.Skip)
	return slices.DeleteFunc(checks, func(c validate.Check) bool {
		return len(only) > 0 && !only[c.Name] || skip[c.Name]
	}), err
}
