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

// Further lists the checks that need more than one row at a time. They have no New.
var Further = []validate.Check{
	{Name: checkDamage, Severity: validate.Damage, Basis: validate.Proved, Payload: true, Help: "a part's bytes, a table's rows or a row's payload are not what the manifest says"},
	{Name: checkChanged, Severity: validate.Error, Basis: validate.Proved, Payload: true, Help: "an input of the dataset is missing, has changed or is damaged"},
	{Name: checkRepeated, Severity: validate.Error, Basis: validate.Proved, Help: "a trajectory is in the dataset twice"},
	{Name: checkLeak, Severity: validate.Error, Basis: validate.Proved, Payload: true, Help: "an example of a validation, or of --held-out, is trained on"},
	{Name: checkLeakText, Severity: validate.Warning, Basis: validate.Inferred, Payload: true, Help: "an example has the first question of a validation example, under another id"},
	{Name: checkResubmitted, Severity: validate.Warning, Basis: validate.Proved, Help: "one batch was submitted twice"},
	{Name: checkUnnamed, Severity: validate.Warning, Basis: validate.Proved, Help: "parts that the manifest does not name: readers of plain Parquet read them as rows; rollmill seal removes those that a killed writer left, rollmill prune those that compact replaced"},
	{Name: checkUnfinished, Severity: validate.Note, Basis: validate.Proved, Help: "shards are missing: the dataset is being written, or its stage ended early; it is not checked"},
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
