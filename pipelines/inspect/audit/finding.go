package audit

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/validate"
)

// Audited is what was looked at and found.
type Audited struct {
	Datasets []Looked           `json:"datasets"`
	Findings []validate.Finding `json:"findings"` // the worst first, then by dataset and check
}

// Looked is a dataset that was read.
type Looked struct {
	URI  string       `json:"uri"`
	Kind formats.Kind `json:"kind"`
	Rows int64        `json:"rows"`
}

// Worst is the severity of the worst finding, or "".
func (a *Audited) Worst() validate.Severity {
	if len(a.Findings) == 0 {
		return ""
	}
	return a.Findings[0].Severity
}
