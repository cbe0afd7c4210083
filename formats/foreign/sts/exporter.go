package sts

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	foreignchat "github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/exporters/fit"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Exporter writes sessions that the viewer of the Hugging Face hub shows: the
// Session Trace Simple Format (STS-Format), docs/hub/session-traces-format.md of
// huggingface/hub-docs. A session is a file of JSON Lines: a header, and then
// the messages of the main path.
//
// The header has further keys, which the viewer ignores: ids, reward and advantage
// under our names, and tools, an array.
var Exporter = exporters.Format{
	Name: "sts", For: exporters.Viewing, Help: "session traces for the viewer of the Hugging Face hub, a file each",
	Omits: "token ids, log probabilities, calls and candidates",
	Of:    exporters.Rows, Exports: []exporters.Extension{exporters.Folder},
	Folder: exporters.Documents(".jsonl", appendSession),
}

type header struct {
	Type    string `json:"type"`
	Harness string `json:"harness"`
	ID      string `json:"id"`
	Name    string `json:"name"`

	Run        string          `json:"run"`
	ExampleID  string          `json:"example_id"`
	Epoch      int32           `json:"epoch"`
	Generation int32           `json:"generation"`
	GroupID    string          `json:"group_id,omitempty"`
	Model      string          `json:"model,omitempty"`
	Status     string          `json:"status"`
	StopReason string          `json:"stop_reason"`
	Error      string          `json:"error,omitempty"`
	Reward     *jsontext.Float `json:"reward,omitempty"`
	Rewards    json.RawMessage `json:"rewards,omitempty"`
	Advantage  *jsontext.Float `json:"advantage,omitempty"`
	Tools      json.RawMessage `json:"tools,omitempty"`
	Example    json.RawMessage `json:"example,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

type messageLine struct {
	Type    string  `json:"type"`
	Message message `json:"message"`
}

type message struct {
	Role             string     `json:"role"`
	Content          string     `json:"content"`
	ReasoningContent string     `json:"reasoningContent,omitempty"`
	ToolCalls        []toolCall `json:"toolCalls,omitempty"`
	ToolCallID       string     `json:"toolCallId,omitempty"`
	Model            string     `json:"model,omitempty"`
}

type toolCall struct {
	ID       string        `json:"id"`
	Function chat.Function `json:"function"`
}

func appendSession(dst []byte, t *formats.Trajectory, x *exporters.Item) ([]byte, error) {
	path, tools := chat.Transcript(t, x.Lose)
	dst, err := jsontext.AppendLine(dst, header{
		Type: "session", Harness: "rollmill", ID: t.TrajectoryID, Name: t.ExampleID,
		Run: t.Run, ExampleID: t.ExampleID, Epoch: t.Epoch, Generation: t.Generation, GroupID: t.GroupID, Model: t.Model,
		Status: t.Status, StopReason: t.StopReason, Error: t.Error, Reward: (*jsontext.Float)(t.Reward),
		Rewards: chat.Object(foreignchat.Rewards(t.Rewards)), Advantage: (*jsontext.Float)(t.Advantage),
		Tools: chat.List(tools), Example: chat.Object(t.Example), Metadata: chat.Object(t.Metadata),
	})
	for _, i := range path {
		if err != nil {
			break
		}
		dst, err = jsontext.AppendLine(dst, messageLine{"message", messageOf(t, &t.Messages[i], x.Lose)})
	}
	return dst, err
}

func messageOf(t *formats.Trajectory, m *formats.Message, lose func(string)) message {
	out := message{Role: fit.Role(m, lose), Content: fit.Text(m, lose), ReasoningContent: m.Reasoning,
		ToolCallID: m.ToolCallID}
	if c := fit.Call(t, m); m.Sampled && c != nil {
		out.Model = c.Model
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, toolCall{c.ID, chat.Function{Name: c.Name, Arguments: c.Arguments}})
	}
	return out
}
