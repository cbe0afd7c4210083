package chat

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/exporters/fit"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/training"
)

// Row is one conversation.
type Row struct {
	Messages []jsontext.Raw `parquet:"messages,list" parquet-element:",json"`
	Tools    string         `parquet:"tools,optional"` // a JSON array

	TrajectoryID string   `parquet:"trajectory_id"`
	ExampleID    string   `parquet:"example_id,dict"`
	GroupID      string   `parquet:"group_id,optional,dict"`
	Run          string   `parquet:"run,dict"`
	Epoch        int32    `parquet:"epoch"`
	Generation   int32    `parquet:"generation"`
	Model        string   `parquet:"model,optional,dict"`
	Status       string   `parquet:"status,dict"`
	StopReason   string   `parquet:"stop_reason,dict"`
	Reward       *float64 `parquet:"reward,optional"`
	Rewards      string   `parquet:"rewards,optional"` // a JSON object
	Advantage    *float64 `parquet:"advantage,optional"`
	Example      string   `parquet:"example,optional"`  // a JSON object
	Metadata     string   `parquet:"metadata,optional"` // a JSON object
}

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

var appendRow = jsontext.Rows[Row]()

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

// weightsOf returns the weights of answers in the loss, by message, where they are not 1:
// 0 for those that do not train.
func weightsOf(t *formats.Trajectory, lose func(part string)) map[int]*float64 {
	weights := map[int]*float64{}
	for i := range t.Messages {
		if t.Messages[i].Role == "assistant" && !t.Trained(i) {
			weights[i] = new(float64)
		}
	}
	for i := range t.Losses {
		switch l := &t.Losses[i]; {
		case l.Loss != training.LossRL:
			lose("losses of single messages")
		case weights[int(l.Message)] == nil && l.Weight != 1:
			weights[int(l.Message)] = &l.Weight
		}
	}
	return weights
}

// lost says what a form for chat templates loses, by the reason of chat.Template.
var lost = map[string]string{
	chat.BadArguments: "tool arguments that are not a JSON object, which stay text",
	chat.BadNumbers:   "numbers in tool arguments that Hugging Face datasets changes, where arguments stay text",
}

// finite returns nil for a number that JSON does not have.
func finite(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

// Rewards returns the components of a reward as a JSON object by name, null for
// one without a value; "" when there are none.
func Rewards(list []formats.NamedReward) string {
	if len(list) == 0 {
		return ""
	}
	out := []byte{'{'}
	for i, r := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsontext.AppendText(out, r.Name), ':')
		if r.Value == nil {
			out = append(out, "null"...)
			continue
		}
		out = jsontext.AppendNumber(out, *r.Value, 64)
	}
	return string(append(out, '}'))
}
