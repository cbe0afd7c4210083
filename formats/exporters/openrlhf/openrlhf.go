// Package openrlhf writes the JSON lines that OpenRLHF loads with
// --apply_chat_template, with its default column names: prompts for its RL
// trainers (--input_key input --label_key label), preferences for DPO and
// reward models (--prompt_key prompt), and single answers with a label for the
// KTO trainer that it had until March 2026 (--output_key output).
package openrlhf

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/exporters"
	"github.com/rollmill/rollmill/formats/number"
)

// Prompts are what its RL trainers load.
var Prompts = exporters.Format{
	Name: "openrlhf-prompts", Help: "OpenRLHF's prompts", Of: exporters.Groups, Files: []exporters.Extension{exporters.JSONL},
	Lines: exporters.Lines(exporters.Each(PromptOf)),
}

// Preferences are what its trainers for DPO and reward models load.
var Preferences = exporters.Format{
	Name: "openrlhf-preference", Help: "OpenRLHF's pairs", Of: exporters.Pairs, Files: []exporters.Extension{exporters.JSONL},
	Lines: exporters.Lines(exporters.Pair(func(p chat.Preference) (Preference, string) { return PreferenceOf(p), "" })),
}

// KTO is what its KTO trainer loads.
var KTO = exporters.Format{
	Name: "openrlhf-kto", Help: "OpenRLHF's single answers, good or bad", Of: exporters.Labels, Files: []exporters.Extension{exporters.JSONL},
	Lines: exporters.Lines(exporters.Single(UnpairedOf)),
}

// Prompt is a row to sample from.
type Prompt struct {
	Input      []chat.Message `json:"input"`
	Label      string         `json:"label"`
	DataSource string         `json:"datasource"`
	ExampleID  string         `json:"example_id"`
}

// Preference is a pair; Margin is the difference of the rewards.
type Preference struct {
	Prompt   []chat.Message `json:"prompt"`
	Chosen   []chat.Message `json:"chosen"`
	Rejected []chat.Message `json:"rejected"`
	Margin   number.Float   `json:"margin"`
}

// PromptOf returns the prompt of a group.
func PromptOf(rows []formats.Trajectory) (Prompt, string) {
	p, reason := chat.PromptOf(rows)
	return Prompt{Input: p.Prompt, Label: formats.AnswerOf(p.Example), DataSource: "rollmill", ExampleID: p.ExampleID}, reason
}

// Unpaired is a single answer, good or bad.
type Unpaired struct {
	Input  []chat.Message `json:"input"`
	Output []chat.Message `json:"output"`
	Label  bool           `json:"label"`
}

// PreferenceOf converts a row of package chat to this format.
func PreferenceOf(p chat.Preference) Preference {
	return Preference{Prompt: p.Prompt, Chosen: p.Chosen, Rejected: p.Rejected, Margin: p.Margin}
}

// UnpairedOf converts a row of package chat to this format.
func UnpairedOf(u chat.Unpaired) Unpaired {
	return Unpaired{Input: u.Prompt, Output: u.Completion, Label: u.Label}
}
