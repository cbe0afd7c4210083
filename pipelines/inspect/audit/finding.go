package audit

import (
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
)

// Result is the result of an audit.
type Result struct {
	Datasets   []Dataset          `json:"datasets"`
	Mismatches []Mismatch         `json:"mismatches,omitempty"` // of each scores dataset, if it was asked for
	Findings   []validate.Finding `json:"findings"`             // by severity, the worst first, then by dataset and check
}

// Dataset is a dataset that was read.
type Dataset struct {
	URI  string      `json:"uri"`
	Kind schema.Kind `json:"kind"`
	Rows int64       `json:"rows"`
}

// Worst returns the severity of the worst finding, or "".
func (a *Result) Worst() validate.Severity {
	if len(a.Findings) == 0 {
		return ""
	}
	return a.Findings[0].Severity
}
