package validate

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says how serious a finding is.
type Severity string

// From worst to least.
const (
	Damage  Severity = "damage"  // the dataset cannot be trusted
	Error   Severity = "error"   // training on it would be wrong
	Warning Severity = "warning" // training on it would probably be worse than necessary
	Note    Severity = "note"    // worth knowing
)

// Severities lists them, the most serious first.
var Severities = []Severity{Damage, Error, Warning, Note}

// AtLeast reports whether s is as serious as o, or more.
func (s Severity) AtLeast(o Severity) bool {
	return slices.Index(Severities, s) <= slices.Index(Severities, o)
}

// Finding is one fault of one dataset.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Basis    Basis    `json:"basis"` // how it is known
	URI      string   `json:"uri"`
	What     string   `json:"what"`
	Count    int64    `json:"count,omitempty"` // how many rows, groups or messages have it
	Of       int64    `json:"of,omitempty"`    // of how many
	First    []Place  `json:"first,omitempty"` // a few of them
}

// Place is a row that has a fault.
type Place struct {
	Row          int64  `json:"row"`
	TrajectoryID string `json:"trajectory_id,omitempty"` // "" for a group whose rows may be anywhere
	Detail       string `json:"detail,omitempty"`
}

func (p Place) String() string {
	s := strings.TrimSuffix(fmt.Sprintf("row %d %s", p.Row, p.TrajectoryID), " ")
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	return s
}
