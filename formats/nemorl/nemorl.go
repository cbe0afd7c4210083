// Package nemorl writes the JSON lines that NeMo-RL's PreferenceDataset loads:
// a context and its completions by rank, 0 being the best.
package nemorl

import "github.com/rollmill/rollmill/formats/trl"

// Row is one pair. The loader adds the column task_name, and fails where it is
// there already (0.6 and later; those before have no need of it).
type Row struct {
	Context     []trl.Message `json:"context"`
	Completions []Completion  `json:"completions"`
}

// Completion is an answer with its rank.
type Completion struct {
	Rank       int           `json:"rank"`
	Completion []trl.Message `json:"completion"`
}

// RowOf is TRL's row in this shape.
func RowOf(p trl.Preference) Row {
	return Row{Context: p.Prompt, Completions: []Completion{{0, p.Chosen}, {1, p.Rejected}}}
}
