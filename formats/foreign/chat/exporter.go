package chat

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/exporters/fit"
)

// Exporter writes conversations for Hugging Face's libraries and TRL, as JSON
// Lines and as Parquet: a column of messages with role, content and tool_calls,
// and a column of the offered tools. The form is specified in "Dataset formats" of TRL and
// in "Writing a chat template" of transformers.
//
// Messages are as chat templates read them (chat.Template). The tools are JSON
// text, which TRL parses: Arrow would merge the keys of all rows otherwise.
//
// A row is the main path of a trajectory, with the ids, the reward and the
// advantage of our row under our names, rewards as a JSON object by name.
var Exporter = exporters.Format{
	Name: "chat", For: exporters.Training, Help: "conversations as Hugging Face and TRL know them, with tools",
	Omits: "token ids, log probabilities, calls and candidates",
	Of:    exporters.Rows, Exports: []exporters.Extension{exporters.JSONL, exporters.Parquet}, Notes: notes,
	Lines: exporters.RawLines(func(dst []byte, x *exporters.Item) ([]byte, int64, error) {
		rows := rowsOf(x)
		for i := range rows {
			dst = append(appendRow(dst, &rows[i]), '\n')
		}
		return dst, int64(len(rows)), nil
	}),
	Table: exporters.Table(rowsOf),
}

const notes = exporters.TemplateNotes + `
With --lossy such arguments stay text. A row that an importer read without a member
that changes what trains (a mask, an image, a history) needs --lossy as well.

An answer that does not train has the weight 0, and one with a weight of its own in
the loss that weight, which OpenAI reads where it is 0 or 1, and so does axolotl 0.21
with "message_field_training: weight", but it drops nulls in arguments. LLaMA-Factory
0.9.5 and ms-swift 4.6 do not read it, and train such answers: give them trl-sft,
which leaves their rows out. Neither reads reasoning_content, and LLaMA-Factory does
not read the text beside a call.
`

var rowsOf = exporters.EachRow(rowOf)

func rowOf(t *formats.Trajectory, x *exporters.Item) Row {
	path, tools := chat.Transcript(t, x.Lose)
	weights := weightsOf(t, x.Lose)
	if name := x.Accept.Unread(t); name != "" {
		x.Lose(name + ", which changes what trains")
	}
	messages := make([]chat.Message, 0, len(path))
	for _, i := range path {
		m := &t.Messages[i]
		messages = append(messages, chat.Message{Role: m.Role, Content: fit.Text(m, x.Lose), Name: m.Name,
			Reasoning: m.Reasoning, ToolCallID: m.ToolCallID, ToolCalls: chat.ToolCalls(m.ToolCalls),
			Weight: weights[i]})
	}
	made, reason := x.Template(messages)
	if part := lost[reason]; part != "" {
		x.Lose(part)
	}
	if tools != "" && chat.List(tools) == nil {
		x.Lose("tools that are not a list of objects, which stay as they are")
	}
	return Row{
		Messages: made, Tools: tools, TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, GroupID: t.GroupID, Run: t.Run,
		Epoch: t.Epoch, Generation: t.Generation, Model: t.Model, Status: t.Status, StopReason: t.StopReason,
		Reward: finite(t.Reward), Rewards: Rewards(t.Rewards),
		Advantage: finite(t.Advantage), Example: t.Example, Metadata: t.Metadata,
	}
}
