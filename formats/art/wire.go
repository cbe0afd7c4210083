package art

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Group is an art.TrajectoryGroup as decoded from the wire.
type Group struct {
	Trajectories []Trajectory `json:"trajectories"`
}

// Trajectory is an art.Trajectory.
type Trajectory struct {
	History
	AdditionalHistories []History      `json:"additional_histories"`
	Reward              float64        `json:"reward"`
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
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
}

// ToolCall is a call that the model made.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Choice is a sampled message with what was sampled.
type Choice struct {
	FinishReason string    `json:"finish_reason"`
	Index        int       `json:"index"`
	Logprobs     *Logprobs `json:"logprobs"`
	Message      Message   `json:"message"`
}

// Logprobs holds one entry for each sampled token.
type Logprobs struct {
	Content []Token `json:"content"`
	Refusal []Token `json:"refusal"`
}

// Token is one sampled token. Bytes are numbers on the wire: a []byte would
// come out as base64, which ART refuses.
type Token struct {
	Token       string  `json:"token"` // "token_id:<n>"
	Bytes       []int   `json:"bytes"`
	Logprob     float64 `json:"logprob"`
	TopLogprobs []Token `json:"top_logprobs"`
}

const tokenPrefix = "token_id:"

// ID is the number in "token_id:<n>".
func (t *Token) ID() (int32, bool) {
	digits, found := strings.CutPrefix(t.Token, tokenPrefix)
	if !found {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), err == nil && n >= 0
}

// UnmarshalJSON takes whichever of the two the object is.
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

// MarshalJSON writes whichever of the two is set.
func (e Entry) MarshalJSON() ([]byte, error) {
	if e.Choice != nil {
		return json.Marshal(e.Choice)
	}
	return json.Marshal(e.Message)
}

// Model is an art.Model or art.TrainableModel.
type Model struct {
	Name           string         `json:"name"`
	Project        string         `json:"project"`
	BaseModel      string         `json:"base_model,omitempty"`
	Trainable      bool           `json:"trainable"`
	InternalConfig map[string]any `json:"_internal_config,omitempty"`
}

// The header with which a submission names itself, and the route by which a
// server that trains atomically tells what became of it. A plain ART server
// ignores the one and lacks the other.
//
//	GET /_rollmill/training?model=NAME&project=PROJECT&submission=TOKEN
//	{"atomic":true,"step":4,"busy":false,"trained_at_step":4}
//
// Such a server trains a submission wholly or not at all, and at most once: a
// second request of the same token trains nothing, and is answered 409 or with
// the lines of the first. busy holds from the request's header on.
const (
	SubmissionHeader = "X-Rollmill-Submission"
	TrainingRoute    = "/_rollmill/training"
)

// TrainingState is the answer of TrainingRoute.
type TrainingState struct {
	Atomic        bool   `json:"atomic"`
	Step          int64  `json:"step"`
	Busy          bool   `json:"busy"`            // a batch of this model is under way
	TrainedAtStep *int64 `json:"trained_at_step"` // the step that this submission made; null when it made none
}
