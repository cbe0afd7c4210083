package trainers

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/validate"
)

// Verl writes the Parquet rows that verl's RLHFDataset loads: a prompt
// to sample from, and the data with which its reward function compares the
// answer.
//
// It does not write verl's rollout dump, on which no trainer trains.
var Verl = exporters.Format{
	Name: "verl", Use: validate.ForPrompts, For: exporters.Training, Help: "verl's prompts with reference answers", Of: exporters.Groups,
	Files: []exporters.Extension{exporters.Parquet}, Form: 2,
	Notes: verlNotes,
	Table: exporters.Table(exporters.One(verlRow)),
}

const verlNotes = `Rows hold the role and the content of messages, and no tools. What verl gives the
chat template is of its own configuration, tool_config_path and
function_tool_path of actor_rollout_ref.rollout.multi_turn: set the tools there
that the policy was offered.

A prompt with tool calls or their results, with names or with reasoning is refused,
and counted as "tools", "name" or "reasoning": they have no place in a row.
`

// VerlRow is one prompt.
type VerlRow struct {
	DataSource  string        `parquet:"data_source,dict"`
	Prompt      []VerlMessage `parquet:"prompt,list"`
	Ability     string        `parquet:"ability,dict"`
	RewardModel VerlReward    `parquet:"reward_model"`
	ExtraInfo   VerlExtra     `parquet:"extra_info"`
}

// VerlMessage is a chat message without tools: verl renders role and content.
type VerlMessage struct {
	Role    string `parquet:"role,dict"`
	Content string `parquet:"content"`
}

// VerlReward is what the reward function is given.
type VerlReward struct {
	Style       string `parquet:"style,dict"`
	GroundTruth string `parquet:"ground_truth"`
}

// VerlExtra is data that verl passes on unchanged.
type VerlExtra struct {
	Split     string `parquet:"split,dict"`
	Index     int64  `parquet:"index"`
	ExampleID string `parquet:"example_id"`
	Example   string `parquet:"example"` // JSON object
}

// verlRow returns the row of a group. The data source is "rollmill": set a reward
// function for it with custom_reward_function.
func verlRow(x *exporters.Item) (r VerlRow, reason string) {
	prompt, reason := trainset.PromptOf(x.Rows)
	if reason != "" {
		return r, reason
	}
	r = VerlRow{DataSource: "rollmill",
		RewardModel: VerlReward{Style: "rule", GroundTruth: formats.AnswerOf(prompt.Example, x.Columns)},
		ExtraInfo:   VerlExtra{Split: "train", Index: x.Given, ExampleID: prompt.ExampleID, Example: prompt.Example}}
	if reason = chat.Unheld(0, prompt.Prompt); reason != "" {
		return r, reason
	}
	for _, m := range prompt.Prompt {
		r.Prompt = append(r.Prompt, VerlMessage{Role: m.Role, Content: m.Content})
	}
	return r, ""
}
