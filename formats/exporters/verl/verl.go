// Package verl writes the Parquet rows that verl's RLHFDataset loads: a prompt
// to sample from, and the data with which its reward function compares the
// answer.
//
// It does not write verl's rollout dump, on which no trainer can train.
package verl

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/exporters"
)

// Format is verl's prompts.
var Format = exporters.Format{
	Name: "verl", Help: "verl's prompts with reference answers", Of: exporters.Groups, Files: []exporters.Extension{exporters.Parquet},
	Notes: notes,
	Table: exporters.Table(func(x *exporters.Item) []Row {
		return exporters.Each(func(rows []formats.Trajectory) (Row, string) { return RowOf(rows, x.Given) })(x)
	}),
}

const notes = `Rows hold the role and the content of messages, and no tools. What verl gives the
chat template is of its own configuration, tool_config_path and
function_tool_path of actor_rollout_ref.rollout.multi_turn: set the tools there
that the policy was offered.

A prompt with tool calls or their results is refused, and counted as "tools":
arguments have no place in a row. Names and reasoning in a prompt are left out.
`

// Row is one prompt.
type Row struct {
	DataSource  string    `parquet:"data_source,dict"`
	Prompt      []Message `parquet:"prompt,list"`
	Ability     string    `parquet:"ability,dict"`
	RewardModel Reward    `parquet:"reward_model"`
	ExtraInfo   Extra     `parquet:"extra_info"`
}

// Message is a chat message without tools: verl renders role and content.
type Message struct {
	Role    string `parquet:"role,dict"`
	Content string `parquet:"content"`
}

// Reward is what the reward function is given.
type Reward struct {
	Style       string `parquet:"style,dict"`
	GroundTruth string `parquet:"ground_truth"`
}

// Extra is data that verl passes on unchanged.
type Extra struct {
	Split     string `parquet:"split,dict"`
	Index     int64  `parquet:"index"`
	ExampleID string `parquet:"example_id"`
	Example   string `parquet:"example"` // JSON object
}

// Tools is the reason for a prompt with tool calls or tool messages.
const Tools = "tools"

// RowOf returns the row of a group. index counts rows from 0. The data source
// is "rollmill": set a reward function for it with custom_reward_function.
func RowOf(rows []formats.Trajectory, index int64) (r Row, reason string) {
	prompt, reason := chat.PromptOf(rows)
	if reason != "" {
		return r, reason
	}
	r = Row{DataSource: "rollmill", RewardModel: Reward{Style: "rule", GroundTruth: formats.AnswerOf(prompt.Example)},
		ExtraInfo: Extra{Split: "train", Index: index, ExampleID: prompt.ExampleID, Example: prompt.Example}}
	for _, m := range prompt.Prompt {
		if m.ToolCallID != "" || len(m.ToolCalls) > 0 {
			return r, Tools
		}
		r.Prompt = append(r.Prompt, Message{Role: m.Role, Content: m.Content})
	}
	return r, ""
}
