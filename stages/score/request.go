package score

import (
	"encoding/json"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

// Protocol names what rewards are given and answer, and its version: with the same one, no key
// changes its meaning.
const Protocol = "rollmill-reward/1"

// Request is sent to a program or a service for one row, as one JSON object. It
// asks for an Answer with the same id.
type Request struct {
	ID         string              `json:"id" jsonschema:"the trajectory's; repeat it in the answer"`
	Example    json.RawMessage     `json:"example" jsonschema:"the row of the examples, as it came"`
	Messages   []RequestMessage    `json:"messages" jsonschema:"the main path, in the form of chat completions"`
	Answer     string              `json:"answer" jsonschema:"text of the last sampled message, or the agent's own answer"`
	Status     string              `json:"status"`
	StopReason string              `json:"stop_reason"`
	Rewards    map[string]*float64 `json:"rewards" jsonschema:"computed before this one; null without a value"`
	Seed       int64               `json:"seed" jsonschema:"of this trajectory and this reward"`

	Metadata         json.RawMessage   `json:"metadata" jsonschema:"what the agent stored; {} without any"`
	Artifacts        map[string]string `json:"artifacts,omitempty" jsonschema:"the files that the attempt left: texts by path"`
	ToolSets         []json.RawMessage `json:"tool_sets" jsonschema:"each an array of the tool definitions that a call offered"`
	Model            string            `json:"model"`
	ExampleID        string            `json:"example_id"`
	Epoch            int32             `json:"epoch"`
	Generation       int32             `json:"generation"`
	PromptTokens     int32             `json:"prompt_tokens"`
	CompletionTokens int32             `json:"completion_tokens"`
	SampledTokens    int32             `json:"sampled_tokens"`
	Protocol         string            `json:"protocol"` // last: programs in shell look for the id at the beginning
}

// RequestMessage is a message in the form of chat completions. Sampled marks
// what the model wrote in this trajectory.
type RequestMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content" jsonschema:"text, or its parts"`
	Name       string          `json:"name,omitempty"`
	Reasoning  string          `json:"reasoning_content,omitempty"`
	ToolCalls  []chat.APICall  `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	Sampled    bool            `json:"sampled,omitempty" jsonschema:"the model wrote it in this trajectory"`
}

// NewRequest returns the request for a row, which must have been read with
// detail Text; name is the reward's. An example that is not JSON is an error.
func NewRequest(row *Row, name string, seed int64) (Request, error) {
	example, err := row.ExampleJSON()
	if err != nil {
		return Request{}, err
	}
	r := Request{
		ID: row.TrajectoryID, Example: json.RawMessage(example), Messages: []RequestMessage{}, Answer: row.Answer,
		Status: row.Status, StopReason: row.StopReason, Rewards: map[string]*float64{}, Seed: RowSeed(row, name, seed),
		Metadata: json.RawMessage(row.Metadata), ToolSets: []json.RawMessage{}, Model: row.Model,
		ExampleID: row.ExampleID, Epoch: row.Epoch, Generation: row.Generation,
		PromptTokens: row.PromptTokens, CompletionTokens: row.CompletionTokens, SampledTokens: row.SampledTokens, Protocol: Protocol,
	}
	if row.Metadata == "" {
		r.Metadata = json.RawMessage("{}")
	} else if !json.Valid(r.Metadata) {
		return Request{}, errors.New("the metadata is not JSON")
	}
	for _, set := range row.ToolSets {
		if !json.Valid([]byte(set)) {
			return Request{}, errors.New("a tool set is not JSON")
		}
		r.ToolSets = append(r.ToolSets, json.RawMessage(set))
	}
	for _, a := range row.Artifacts {
		if r.Artifacts == nil {
			r.Artifacts = map[string]string{}
		}
		r.Artifacts[a.Name] = a.Content
	}
	for _, e := range row.Known {
		r.Rewards[e.Name] = e.Value
	}
	for _, i := range row.Main() {
		r.Messages = append(r.Messages, requestMessage(&row.Messages[i]))
	}
	return r, nil
}

// RequestLine is NewRequest as a line of JSON.
func RequestLine(row *Row, name string, seed int64) ([]byte, error) {
	r, err := NewRequest(row, name, seed)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(r)
	return append(line, '\n'), err
}

// RowSeed returns the seed of the reward of a row; name is the reward's.
func RowSeed(row *Row, name string, seed int64) int64 {
	return formats.Seed(seed, row.TrajectoryID, "reward", name)
}

func requestMessage(m *formats.Message) RequestMessage {
	out := RequestMessage{Role: m.Role, Name: m.Name, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID,
		ToolCalls: chat.APICalls(m.ToolCalls), Sampled: m.Sampled}
	if out.Content = json.RawMessage(m.ContentParts); !json.Valid(out.Content) {
		out.Content, _ = json.Marshal(m.Content)
	}
	return out
}
