// Package openrlhf writes the JSON lines that OpenRLHF loads with
// --apply_chat_template, with its default column names: prompts for its RL
// trainers (--input_key input --label_key label), preferences for DPO and
// reward models (--prompt_key prompt), and single answers with a label for the
// KTO trainer that it had until March 2026 (--output_key output).
package openrlhf

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/number"
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
	Margin   number.Float  `json:"margin"`
}

// PromptOf returns the prompt of a group.
func PromptOf(rows []formats.Trajectory) (Prompt, string) {
	p, reason := trl.PromptOf(rows)
	return Prompt{Input: p.Prompt, Label: formats.AnswerOf(p.Example), DataSource: "rollmill", ExampleID: p.ExampleID}, reason
}

// Unpaired is a single answer, good or bad.
type Unpaired struct {
	Input  []trl.Message `json:"input"`
	Output []trl.Message `json:"output"`
	Label  bool          `json:"label"`
}

// PreferenceOf converts TRL's row to this format.
func PreferenceOf(p trl.Preference) Preference {
	return Preference{Prompt: p.Prompt, Chosen: p.Chosen, Rejected: p.Rejected, Margin: p.Margin}
}

// UnpairedOf converts TRL's row to this format.
func UnpairedOf(u trl.Unpaired) Unpaired {
	return Unpaired{Input: u.Prompt, Output: u.Completion, Label: u.Label}
}
