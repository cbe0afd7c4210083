package audit

import (
	"slices"

	"github.com/rollmill/rollmill/formats/validate"
)

// The checks of datasets together, and of a dataset as a whole.
const (
	checkDamage      = "damage"
	checkChanged     = "changed"
	checkRepeated    = "repeated"
	checkLeak        = "leak"
	checkLeakText    = "leak_text"
	checkResubmitted = "resubmitted"
	checkUnfinished  = "unfinished"
	checkUnnamed     = "unnamed"
)

// Further are the checks that look at more than one row after another. They
// have no New.
var Further = []validate.Check{
	{Name: checkDamage, Severity: validate.Damage, Basis: validate.Proved, Payload: true, Help: "a part's bytes, a table's rows or a row's payload are not what the manifest says"},
	{Name: checkChanged, Severity: validate.Error, Basis: validate.Proved, Payload: true, Help: "what the dataset was made from is gone, has changed or is damaged"},
	{Name: checkRepeated, Severity: validate.Error, Basis: validate.Proved, Help: "a trajectory is there twice"},
	{Name: checkLeak, Severity: validate.Error, Basis: validate.Proved, Payload: true, Help: "an example of a validation, or of --held-out, is trained on"},
	{Name: checkLeakText, Severity: validate.Warning, Basis: validate.Inferred, Payload: true, Help: "an example begins with the words of one example of a validation, under another id"},
	{Name: checkResubmitted, Severity: validate.Warning, Basis: validate.Proved, Help: "one batch was handed over twice"},
	{Name: checkUnnamed, Severity: validate.Warning, Basis: validate.Proved, Help: "parts that the manifest does not name: readers of plain Parquet take them for rows; rollmill seal removes those that a writer left"},
	{Name: checkUnfinished, Severity: validate.Note, Basis: validate.Proved, Help: "shards of a dataset are missing: it is being written, or its stage ended early; it is not looked at"},
}

// Checks lists every check: those of datasets, then those of rows.
func Checks() []validate.Check { return slices.Concat(Further, validate.Checks) }

// Names lists every check's name.
func Names() []string {
	var names []string
	for _, c := range Checks() {
		names = append(names, c.Name)
	}
	return names
}
