// Package wiretest decodes what an ART server is sent, for tests and for the double of a server.
package wiretest

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats/chat"
)

// Group is an art.TrajectoryGroup decoded from JSON.
type Group struct {
	Trajectories []Trajectory `json:"trajectories"`
}

// Trajectory is an art.Trajectory.
type Trajectory struct {
	History
	AdditionalHistories []History      `json:"additional_histories"`
	Reward              *float64       `json:"reward"`
	Metrics             map[string]any `json:"metrics"`  // numbers and booleans
	Metadata            map[string]any `json:"metadata"` // flat
	Logs                []string       `json:"logs"`
}

// History is one sequence to train on.
type History struct {
	Entries []Entry         `json:"messages_and_choices"`
	Tools   json.RawMessage `json:"tools"` // a JSON array, or null
}

// Entry is a plain message or a choice; exactly one is set.
type Entry struct {
	Message *Message
	Choice  *Choice
}

// Message is a chat message whose content is a string.
type Message struct {
	Role       string         `json:"role"`
	Content    string         `json:"content"`
	Name       string         `json:"name,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	ToolCalls  []chat.APICall `json:"tool_calls,omitempty"`
}

// Choice is a sampled message with its logprobs.
type Choice struct {
	FinishReason string    `json:"finish_reason"`
	Index        *int      `json:"index"`
	Logprobs     *Logprobs `json:"logprobs"`
	Message      Message   `json:"message"`
}

// Logprobs has one entry for each sampled token.
type Logprobs struct {
	Content []Token `json:"content"`
	Refusal []Token `json:"refusal"`
}

// Token is one sampled token. Bytes are numbers in JSON: a []byte would be
// encoded as base64, which ART refuses.
type Token struct {
	Token       string  `json:"token"` // "token_id:<n>"
	Bytes       []int   `json:"bytes"`
	Logprob     float64 `json:"logprob"`
	TopLogprobs []Token `json:"top_logprobs"`
}

// UnmarshalJSON reads a message or a choice.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var probe struct {
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return err
	}
	if probe.Message != nil {
		e.Choice = &Choice{}
		return json.Unmarshal(data, e.Choice)
	}
	e.Message = &Message{}
	return json.Unmarshal(data, e.Message)
}
