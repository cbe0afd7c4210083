// Package openrlhf writes the JSON lines that OpenRLHF loads with
// --apply_chat_template, under the column names that are its defaults:
// prompts for its RL trainers (--input_key input --label_key label), and
// preferences for DPO and reward models (--prompt_key prompt).
package openrlhf

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/trl"
)

// Prompt is a row to sample from.
type Prompt struct {
	Input      []trl.Message `json:"input"`
	Label      string        `json:"label"`
	DataSource string        `json:"datasource"`
	ExampleID  string        `json:"example_id"`
}

// Preference is a pair; Margin is the difference of the rewards.
type Preference struct {
	Prompt   []trl.Message `json:"prompt"`
	Chosen   []trl.Message `json:"chosen"`
	Rejected []trl.Message `json:"rejected"`
	Margin   float64       `json:"margin"`
}

// PromptOf makes the prompt of a group.
func PromptOf(rows []formats.Trajectory) (Prompt, string) {
	p, reason := trl.PromptOf(rows)
	return Prompt{Input: p.Prompt, Label: formats.AnswerOf(p.Example), DataSource: "rollmill", ExampleID: p.ExampleID}, reason
}

// Pair makes the preference of a group: its best against its worst.
func Pair(rows []formats.Trajectory) (Preference, string) {
	p, reason := trl.Pair(rows)
	return Preference{Prompt: p.Prompt, Chosen: p.Chosen, Rejected: p.Rejected, Margin: p.ScoreChosen - p.ScoreRejected}, reason
}
