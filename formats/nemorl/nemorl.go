// Package nemorl writes the JSON lines that NeMo-RL's PreferenceDataset loads:
// a context and its completions by rank, 0 being the best.
package nemorl

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/trl"
)

// Row is one pair.
type Row struct {
	Context     []trl.Message `json:"context"`
	Completions []Completion  `json:"completions"`
	TaskName    string        `json:"task_name"`
}

// Completion is an answer with its rank.
type Completion struct {
	Rank       int           `json:"rank"`
	Completion []trl.Message `json:"completion"`
}

// Pair makes the row of a group: its best against its worst.
func Pair(rows []formats.Trajectory) (Row, string) {
	p, reason := trl.Pair(rows)
	return Row{Context: p.Prompt, Completions: []Completion{{0, p.Chosen}, {1, p.Rejected}}, TaskName: "rollmill"}, reason
}
