// Package nemorl writes the JSON lines that NeMo-RL's PreferenceDataset loads:
// a context and its completions by rank; 0 is the best.
package nemorl

import "github.com/rollmill/rollmill/formats/trl"

// Row is one pair. The loader adds the column task_name and fails when it is
// already there (0.6 and later; earlier versions do not need it).
type Row struct {
	Context     []trl.Message `json:"context"`
	Completions []Completion  `json:"completions"`
}

// Completion is an answer with its rank.
type Completion struct {
	Rank       int           `json:"rank"`
	Completion []trl.Message `json:"completion"`
}

// RowOf converts TRL's row to this format.
func RowOf(p trl.Preference) Row {
	return Row{Context: p.Prompt, Completions: []Completion{{0, p.Chosen}, {1, p.Rejected}}}
}
