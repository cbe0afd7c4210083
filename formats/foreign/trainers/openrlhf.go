package trainers

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/validate"
)

// OpenRLHF's formats are the JSON lines that it loads with
// --apply_chat_template, with its default column names: prompts for its RL
// trainers (--input_key input --label_key label), preferences for DPO and
// reward models (--prompt_key prompt), and single answers with a label for the
// KTO trainer that it had until March 2026 (--output_key output).
//
// It gives no tools to the chat template, so a row for which the policy was
// offered tools is refused.

// OpenRLHFPrompts writes the prompts that OpenRLHF's RL trainers load.
var OpenRLHFPrompts = exporters.Format{
	Name: "openrlhf-prompts", Use: validate.ForPrompts, For: exporters.Training, Help: "OpenRLHF's prompts", Of: exporters.Groups,
	Files: []exporters.Extension{exporters.JSONL},
	Form:  3, Notes: openRLHFNotes, Lines: exporters.Lines(exporters.One(openRLHFPrompt)),
}

// OpenRLHFPreferences writes the pairs that OpenRLHF's trainers for DPO and reward models load.
var OpenRLHFPreferences = exporters.Format{
	Name: "openrlhf-preference", Use: validate.ForDPO, For: exporters.Training, Help: "OpenRLHF's pairs", Of: exporters.Pairs,
	Files: []exporters.Extension{exporters.JSONL},
	Form:  3, Notes: openRLHFNotes, Lines: exporters.Lines(exporters.One(openRLHFPreference)),
}

// OpenRLHFKTO writes the single answers that OpenRLHF's KTO trainer loads.
var OpenRLHFKTO = exporters.Format{
	Name: "openrlhf-kto", Use: validate.ForKTO, For: exporters.Training,
	Help: "OpenRLHF's single answers, good or bad", Of: exporters.Labels,
	Files: []exporters.Extension{exporters.JSONL},
	Form:  3, Notes: openRLHFNotes, Lines: exporters.Lines(exporters.One(openRLHFAnswer)),
}

const openRLHFNotes = exporters.TemplateNotes + `
OpenRLHF gives no tools to the chat template, so rows for which the policy was
offered tools are refused, too, as "tools".
`

// Prompt is a row to sample from.
type Prompt struct {
	Input      []jsontext.Raw `json:"input"`
	Label      string         `json:"label"`
	DataSource string         `json:"datasource"`
	ExampleID  string         `json:"example_id"`
}

// Preference is a pair; Margin is the difference of the rewards.
type Preference struct {
	Prompt   []jsontext.Raw `json:"prompt"`
	Chosen   []jsontext.Raw `json:"chosen"`
	Rejected []jsontext.Raw `json:"rejected"`
	Margin   jsontext.Float `json:"margin"`
}

// Unpaired is a single answer, good or bad.
type Unpaired struct {
	Input  []jsontext.Raw `json:"input"`
	Output []jsontext.Raw `json:"output"`
	Label  bool           `json:"label"`
}

func openRLHFPrompt(x *exporters.Item) (row Prompt, reason string) {
	p, reason := trainset.PromptOf(x.Rows)
	row = Prompt{Label: formats.AnswerOf(p.Example, x.Columns), DataSource: "rollmill", ExampleID: p.ExampleID}
	if reason == "" {
		row.Input, reason = x.Template(p.Prompt)
	}
	return row, cmp.Or(reason, chat.NoTools(p.Tools))
}

func openRLHFPreference(x *exporters.Item) (Preference, string) {
	p := x.Pair
	made, reason := x.Templates(p.Prompt, p.Chosen, p.Rejected)
	return Preference{made[0], made[1], made[2], p.Margin}, cmp.Or(reason, chat.NoTools(p.Tools))
}

func openRLHFAnswer(x *exporters.Item) (Unpaired, string) {
	u := x.Single
	made, reason := x.Templates(u.Prompt, u.Completion)
	return Unpaired{made[0], made[1], u.Label}, cmp.Or(reason, chat.NoTools(u.Tools))
}
