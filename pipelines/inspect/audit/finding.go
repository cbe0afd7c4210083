package audit

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Severity says how bad a finding is.
type Severity string

// From worst to least.
const (
	Damage  Severity = "damage"  // the dataset cannot be trusted at all
	Error   Severity = "error"   // training on it would go wrong
	Warning Severity = "warning" // it probably would be worse than it could be
	Note    Severity = "note"    // worth knowing
)

// Severities lists them, the worst first.
var Severities = []Severity{Damage, Error, Warning, Note}

// AtLeast tells whether s is as bad as o, or worse.
func (s Severity) AtLeast(o Severity) bool {
	return slices.Index(Severities, s) <= slices.Index(Severities, o)
}

// Finding is one trouble of one dataset.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	URI      string   `json:"uri"`
	What     string   `json:"what"`
	Count    int64    `json:"count,omitempty"` // how many rows, groups or messages have it
	Of       int64    `json:"of,omitempty"`    // of how many
	First    []Place  `json:"first,omitempty"` // a few of them
}

// Place is a row that has a trouble.
type Place struct {
	Row          int64  `json:"row"`
	TrajectoryID string `json:"trajectory_id,omitempty"` // "" for a group whose rows may lie anywhere
	Detail       string `json:"detail,omitempty"`
}

// Audited is what was looked at and found.
type Audited struct {
	Datasets []Looked  `json:"datasets"`
	Findings []Finding `json:"findings"` // the worst first, then by dataset and check
}

// Looked is a dataset that was read.
type Looked struct {
	URI  string       `json:"uri"`
	Kind formats.Kind `json:"kind"`
	Rows int64        `json:"rows"`
}

// Worst is the severity of the worst finding, or "".
func (a *Audited) Worst() Severity {
	if len(a.Findings) == 0 {
		return ""
	}
	return a.Findings[0].Severity
}
