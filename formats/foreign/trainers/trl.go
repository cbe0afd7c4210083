package trainers

import (
	"cmp"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/validate"
)

// TRL's formats are the rows that its trainers load: those of package formats/chat,
// with messages as chat templates read them.

// TRLPreference writes a preference dataset, for DPO and similar methods.
var TRLPreference = exporters.Format{
	Name: "trl-preference", Use: validate.ForDPO, For: exporters.Training, Help: "TRL's preference rows", Of: exporters.Pairs,
	Files: []exporters.Extension{exporters.JSONL, exporters.Parquet},
	Form:  3, Notes: exporters.TemplateNotes + toolNotes, Lines: exporters.Lines(exporters.One(trlPreference)),
	Table: exporters.Table(exporters.One(trlPreference)),
}

// TRLKTO writes an unpaired preference dataset.
var TRLKTO = exporters.Format{
	Name: "trl-kto", Use: validate.ForKTO, For: exporters.Training, Help: "TRL's unpaired preference rows: single answers, good or bad",
	Of:    exporters.Labels,
	Files: []exporters.Extension{exporters.JSONL},
	Form:  3, Notes: exporters.TemplateNotes + toolNotes, Lines: exporters.Lines(exporters.One(trlAnswer)),
}

// TRLSFT writes a language modelling dataset.
var TRLSFT = exporters.Format{
	Name: "trl-sft", Use: validate.ForSFT, For: exporters.Training, Help: "TRL's conversations", Of: exporters.Top,
	Files: []exporters.Extension{exporters.JSONL},
	Form:  3, Notes: exporters.TemplateNotes + toolNotes, Lines: exporters.Lines(exporters.One(trlConversation)),
}

// TRLPrompts writes a prompt-only dataset.
var TRLPrompts = exporters.Format{
	Name: "trl-prompts", Use: validate.ForPrompts, For: exporters.Training,
	Help: "TRL's prompt-only rows, for GRPO and RLOO", Of: exporters.Groups,
	Files: []exporters.Extension{exporters.JSONL},
	Form:  3, Notes: exporters.TemplateNotes + promptNotes, Lines: exporters.Lines(exporters.One(trlPrompt)),
}

const toolNotes = `
The column tools is the JSON text of the offered tools; the trainer reads it.
`

const promptNotes = `
The column tools is the JSON text of the tools that the policy was offered. The
trainer does not read it: give it the same tools, as its argument "tools" or by
its environments.
`

type preference struct {
	Prompt        []jsontext.Raw `json:"prompt" parquet:"prompt,list" parquet-element:",json"`
	Chosen        []jsontext.Raw `json:"chosen" parquet:"chosen,list" parquet-element:",json"`
	Rejected      []jsontext.Raw `json:"rejected" parquet:"rejected,list" parquet-element:",json"`
	Tools         string         `json:"tools,omitempty" parquet:"tools,optional"` // JSON array
	ScoreChosen   jsontext.Float `json:"score_chosen" parquet:"score_chosen"`
	ScoreRejected jsontext.Float `json:"score_rejected" parquet:"score_rejected"`
	Margin        jsontext.Float `json:"margin" parquet:"margin"` // of the scores, for reward models
	ChosenID      string         `json:"chosen_id" parquet:"chosen_id"`
	RejectedID    string         `json:"rejected_id" parquet:"rejected_id"`
}

func trlPreference(x *exporters.Item) (preference, string) {
	p := x.Pair
	made, reason := x.Templates(p.Prompt, p.Chosen, p.Rejected)
	return preference{Prompt: made[0], Chosen: made[1], Rejected: made[2], Tools: p.Tools, ScoreChosen: p.ScoreChosen,
		ScoreRejected: p.ScoreRejected, Margin: p.Margin, ChosenID: p.ChosenID, RejectedID: p.RejectedID,
	}, cmp.Or(reason, unread(p.Tools))
}

type answer struct {
	Prompt       []jsontext.Raw `json:"prompt"`
	Completion   []jsontext.Raw `json:"completion"`
	Label        bool           `json:"label"`
	Tools        string         `json:"tools,omitempty"`
	Score        jsontext.Float `json:"score"`
	TrajectoryID string         `json:"trajectory_id"`
}

func trlAnswer(x *exporters.Item) (answer, string) {
	u := x.Single
	made, reason := x.Templates(u.Prompt, u.Completion)
	return answer{Prompt: made[0], Completion: made[1], Label: u.Label, Tools: u.Tools, Score: u.Score,
		TrajectoryID: u.TrajectoryID}, cmp.Or(reason, unread(u.Tools))
}

type conversation struct {
	Messages     []jsontext.Raw  `json:"messages"`
	Tools        string          `json:"tools,omitempty"`
	Score        *jsontext.Float `json:"score"` // nil: never scored
	TrajectoryID string          `json:"trajectory_id"`
}

func trlConversation(x *exporters.Item) (row conversation, reason string) {
	c, reason := trainset.Best(x.Rows)
	row = conversation{Tools: c.Tools, Score: c.Score, TrajectoryID: c.TrajectoryID}
	if reason == "" {
		row.Messages, reason = x.Template(c.Messages)
	}
	return row, cmp.Or(reason, unread(c.Tools))
}

// prompt has an example: reward functions get the other columns as arguments.
type prompt struct {
	Prompt    []jsontext.Raw `json:"prompt"`
	Tools     string         `json:"tools,omitempty"`
	ExampleID string         `json:"example_id"`
	Example   string         `json:"example"` // JSON object
}

func trlPrompt(x *exporters.Item) (row prompt, reason string) {
	p, reason := trainset.PromptOf(x.Rows)
	row = prompt{Tools: p.Tools, ExampleID: p.ExampleID, Example: p.Example}
	if reason == "" {
		row.Prompt, reason = x.Template(p.Prompt)
	}
	return row, cmp.Or(reason, unread(p.Tools))
}

// unread returns a reason for tools that are no list of objects.
func unread(tools string) string {
	if tools != "" && chat.List(tools) == nil {
		return chat.Tools
	}
	return ""
}
