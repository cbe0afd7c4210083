package art

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

// Model is an art.Model or art.TrainableModel.
type Model struct {
	Name           string         `json:"name"`
	Project        string         `json:"project"`
	BaseModel      string         `json:"base_model,omitempty"`
	Trainable      bool           `json:"trainable"`
	InternalConfig map[string]any `json:"_internal_config,omitempty"`
}

// The header that identifies a submission, and the route by which a server that
// trains atomically reports its state. A plain ART server ignores the header
// and does not have the route.
//
//	GET /_rollmill/training?model=NAME&project=PROJECT&submission=TOKEN
//	{"atomic":true,"step":4,"busy":false,"trained_at_step":4}
//
// Such a server trains a submission completely or not at all, and at most once:
// a second request with the same token trains nothing and is answered by 409 or
// by the lines of the first. busy is true from the moment the request's header
// arrives.
const (
	SubmissionHeader = "X-Rollmill-Submission"
	TrainingRoute    = "/_rollmill/training"
)

// TrainingState is the response of TrainingRoute.
type TrainingState struct {
	Atomic        bool   `json:"atomic"`
	Step          int64  `json:"step"`
	Busy          bool   `json:"busy"`            // a batch of this model is being trained
	TrainedAtStep *int64 `json:"trained_at_step"` // the step made by this submission; null when it made none
}
