// Package nemorl writes the JSON lines that NeMo-RL's PreferenceDataset loads:
// a context and its completions by rank; 0 is the best.
package nemorl

import (
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/exporters"
)

// Format is NeMo-RL's pairs.
var Format = exporters.Format{
	Name: "nemo-rl-preference", Help: "NeMo-RL's pairs by rank", Of: exporters.Pairs, Files: []exporters.Extension{exporters.JSONL},
	Lines: exporters.Lines(exporters.Pair(func(p chat.Preference) (Row, string) { return RowOf(p), "" })),
}

// Row is one pair. The loader adds the column task_name and fails when it is
// already there (0.6 and later; earlier versions do not need it).
type Row struct {
	Context     []chat.Message `json:"context"`
	Completions []Completion   `json:"completions"`
}

// Completion is an answer with its rank.
type Completion struct {
	Rank       int            `json:"rank"`
	Completion []chat.Message `json:"completion"`
}

// RowOf converts a row of package chat to this format.
func RowOf(p chat.Preference) Row {
	return Row{Context: p.Prompt, Completions: []Completion{{0, p.Chosen}, {1, p.Rejected}}}
}
