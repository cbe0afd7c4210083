package scout

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	foreignchat "github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Row is one transcript.
type Row struct {
	TranscriptID string   `parquet:"transcript_id"`
	SourceType   string   `parquet:"source_type,dict"`
	SourceID     string   `parquet:"source_id,dict"` // the run
	Date         string   `parquet:"date,optional"`
	TaskID       string   `parquet:"task_id,dict"`
	TaskRepeat   int64    `parquet:"task_repeat"`
	Model        string   `parquet:"model,optional,dict"`
	ModelOptions string   `parquet:"model_options,optional,dict"`
	Score        string   `parquet:"score,optional"`
	MessageCount int64    `parquet:"message_count"`
	TotalTime    *float64 `parquet:"total_time,optional"`
	TotalTokens  int64    `parquet:"total_tokens"`
	Error        string   `parquet:"error,optional"`
	Limit        string   `parquet:"limit,optional,dict"`
	Messages     string   `parquet:"messages"`

	Epoch         int32    `parquet:"epoch"`
	GroupID       string   `parquet:"group_id,optional,dict"`
	Status        string   `parquet:"status,dict"`
	StopReason    string   `parquet:"stop_reason,dict"`
	FailureClass  string   `parquet:"failure_class,optional,dict"`
	PolicyVersion *int64   `parquet:"policy_version,optional"`
	Answer        string   `parquet:"answer,optional"`
	Rewards       string   `parquet:"rewards,optional"`
	Advantage     *float64 `parquet:"advantage,optional"`
	SampledTokens int32    `parquet:"sampled_tokens"`
}

// Exporter writes transcripts for Inspect Scout: a Parquet file of its
// database schema (docs/db_schema.qmd of meridianlabs-ai/inspect_scout), in
// which messages is a JSON array of Inspect's ChatMessage. Put the file, or
// several, into a folder and open it with transcripts_from.
//
// A transcript is the main path of a trajectory. Columns that the schema does
// not have are metadata there, under our names.
var Exporter = exporters.Format{
	Name: "inspect-scout", For: exporters.Viewing, Help: "transcripts for Inspect Scout's scanners and viewer",
	Omits: "token ids, log probabilities, calls, tools, candidates and the example",
	Of:    exporters.Rows, Exports: []exporters.Extension{exporters.Parquet},
	Table: exporters.Table(exporters.EachRow(func(t *formats.Trajectory, x *exporters.Item) Row {
		return rowOf(t, x.Lose)
	})),
}

func rowOf(t *formats.Trajectory, lose func(string)) Row {
	path := t.Main()
	if len(path) < len(t.Messages) {
		lose("branches")
	}
	r := Row{
		TranscriptID: t.TrajectoryID, SourceType: "rollmill", SourceID: t.Run, TaskID: t.ExampleID,
		TaskRepeat: int64(t.Generation), Model: t.Model, MessageCount: int64(len(path)),
		TotalTokens: int64(t.PromptTokens) + int64(t.CompletionTokens), Error: t.Error, Limit: limits[t.StopReason],
		Epoch: t.Epoch, GroupID: t.GroupID, Status: t.Status, StopReason: t.StopReason, FailureClass: t.FailureClass,
		PolicyVersion: t.PolicyVersion, Answer: t.Answer, Rewards: foreignchat.Rewards(t.Rewards), Advantage: t.Advantage,
		SampledTokens: t.SampledTokens,
	}
	if t.Reward != nil {
		r.Score = string(jsontext.AppendNumber(nil, *t.Reward, 64))
	}
	if t.StartedAt != 0 {
		r.Date = time.UnixMicro(t.StartedAt).UTC().Format(time.RFC3339)
		if t.FinishedAt != 0 {
			seconds := float64(t.FinishedAt-t.StartedAt) / 1e6
			r.TotalTime = &seconds
		}
	}
	if i := slices.IndexFunc(t.Calls, func(c formats.Call) bool { return c.Target }); i >= 0 &&
		chat.Object(t.Calls[i].Sampling) != nil {
		r.ModelOptions = t.Calls[i].Sampling
	}
	messages := make([]message, 0, len(path))
	for _, i := range path {
		messages = append(messages, messageOf(t, i, lose))
	}
	text, err := jsontext.Append(nil, messages)
	if err != nil {
		panic(fmt.Sprintf("scout: messages cannot be encoded: %v", err)) // its raw values were parsed
	}
	r.Messages = string(text)
	return r
}

// limits are the names of Inspect's limits, by stop reason.
var limits = map[string]string{
	outcomes.StopLength: "token", outcomes.StopMaxTokens: "token", outcomes.StopTurns: "message",
	outcomes.StopMaxCalls: "message", outcomes.StopTimeout: "time", outcomes.StopBudget: "cost",
}

// message is a ChatMessage.
type message struct {
	ID         string     `json:"id"`
	Role       string     `json:"role"`
	Content    any        `json:"content"` // a text, or parts
	Source     string     `json:"source,omitempty"`
	Model      string     `json:"model,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Function   string     `json:"function,omitempty"`
}

type toolCall struct {
	ID         string          `json:"id"`
	Function   string          `json:"function"`
	Arguments  json.RawMessage `json:"arguments"`
	ParseError string          `json:"parse_error,omitempty"`
	Type       string          `json:"type"`
}

type part struct {
	Type      string `json:"type"` // text, image or reasoning
	Text      string `json:"text,omitempty"`
	Image     string `json:"image,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

func messageOf(t *formats.Trajectory, i int, lose func(string)) message {
	m := &t.Messages[i]
	role := exporters.Role(m, lose)
	out := message{ID: fmt.Sprintf("%s-%d", t.TrajectoryID, i), Role: role, Content: content(m, lose), Source: "input"}
	switch role {
	case "assistant":
		if out.Source = ""; m.Sampled {
			out.Source = "generate"
		}
		if c := exporters.Call(t, m); c != nil {
			out.Model = c.Model
		}
		for _, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, callOf(c, lose))
		}
	case "tool":
		out.Source, out.ToolCallID, out.Function = "", m.ToolCallID, m.Name
	}
	return out
}

func callOf(c formats.ToolCall, lose func(string)) toolCall {
	out := toolCall{ID: c.ID, Function: c.Name, Arguments: chat.Object(c.Arguments), Type: "function"}
	if out.Arguments == nil {
		lose("tool arguments that are not a JSON object")
		out.Arguments, out.ParseError = json.RawMessage(`{}`), "the arguments are not a JSON object"
	}
	return out
}

func content(m *formats.Message, lose func(string)) any {
	parts := exporters.Parts(m, lose)
	if m.ContentParts == "" && m.Reasoning == "" {
		return m.Content
	}
	out := []part{}
	if m.Reasoning != "" {
		out = append(out, part{Type: "reasoning", Reasoning: m.Reasoning})
	}
	for _, p := range parts {
		if p.URL != "" {
			out = append(out, part{Type: "image", Image: p.URL})
		} else if p.Text != "" {
			out = append(out, part{Type: "text", Text: p.Text})
		}
	}
	return out
}
