package formats

import (
	"slices"

	"github.com/rollmill/rollmill/formats/training"
)

// Trajectory is the wide row: one complete recorded attempt at an example.
// rollout and curate write it. Column names are API. columns_table.go documents
// every column: its meaning, its unit and what null means.
//
// The tag rollmill:"payload" marks what PayloadDigest covers, and
// rollmill:"volatile" what depends on time and machines: no digest covers it.
type Trajectory struct {
	TrajectoryID string `parquet:"trajectory_id"`
	Run          string `parquet:"run,dict"`
	ExampleID    string `parquet:"example_id,dict"`
	Epoch        int32  `parquet:"epoch,delta"`
	Generation   int32  `parquet:"generation,delta"`
	ForkedFrom   string `parquet:"forked_from,optional"` // of a fork; see ForkKey
	ForkCall     *int32 `parquet:"fork_call,optional"`

	Example    string      `parquet:"example" rollmill:"payload"` // the original input row, a JSON object
	Messages   []Message   `parquet:"messages,list" rollmill:"payload"`
	Calls      []Call      `parquet:"calls,list" rollmill:"payload"`
	ToolSets   []string    `parquet:"tool_sets,list" rollmill:"payload"` // each a JSON array of tool definitions
	Candidates []Candidate `parquet:"candidates,list" rollmill:"payload"`
	Artifacts  []Artifact  `parquet:"artifacts,optional,list" rollmill:"volatile"`

	Answer           string `parquet:"answer,optional"`
	Status           string `parquet:"status,dict"`
	StopReason       string `parquet:"stop_reason,dict"`
	FailureClass     string `parquet:"failure_class,optional,dict"`
	Error            string `parquet:"error,optional"`
	Model            string `parquet:"model,optional,dict"`
	PolicyVersion    *int64 `parquet:"policy_version,optional"`
	TokenSource      string `parquet:"token_source,optional,dict"`
	PromptTokens     int32  `parquet:"prompt_tokens,delta"`
	CompletionTokens int32  `parquet:"completion_tokens,delta"`
	SampledTokens    int32  `parquet:"sampled_tokens,delta"`
	PayloadDigest    string `parquet:"payload_digest"`

	Reward        *float64                    `parquet:"reward,optional"`
	Rewards       []NamedReward               `parquet:"rewards,list"`
	ShapedRewards []float64                   `parquet:"shaped_rewards,optional,list"`
	GroupID       string                      `parquet:"group_id,optional,dict"`
	Advantage     *float64                    `parquet:"advantage,optional"`
	Advantages    []training.MessageAdvantage `parquet:"advantages,optional,list"`
	Losses        []training.MessageLoss      `parquet:"losses,optional,list"`

	Attempts   int32  `parquet:"attempts,delta" rollmill:"volatile"`
	Diverged   string `parquet:"diverged,optional,dict" rollmill:"volatile"`
	StartedAt  int64  `parquet:"started_at,optional,timestamp(microsecond),delta" rollmill:"volatile"`  // 0: not made
	FinishedAt int64  `parquet:"finished_at,optional,timestamp(microsecond),delta" rollmill:"volatile"` // 0: not made
	Metadata   string `parquet:"metadata,optional"`                                                     // a JSON object
}

// Message is one node of a trajectory's tree.
type Message struct {
	Parent         int32      `parquet:"parent,delta"` // index into messages; -1 at a root
	Role           string     `parquet:"role,dict"`
	Content        string     `parquet:"content,optional"`
	ContentParts   string     `parquet:"content_parts,optional"` // the JSON array, when content came as parts
	Name           string     `parquet:"name,optional,dict"`
	Reasoning      string     `parquet:"reasoning,optional"`
	ToolCallID     string     `parquet:"tool_call_id,optional"`
	ToolCalls      []ToolCall `parquet:"tool_calls,list"`
	Sampled        bool       `parquet:"sampled"`
	FinishReason   string     `parquet:"finish_reason,optional,dict"`
	Call           int32      `parquet:"call,delta"` // index in calls of the call that answered with it; -1 for input
	Branch         string     `parquet:"branch,optional,dict"`
	TokenIDs       []int32    `parquet:"token_ids,optional,list"`
	Logprobs       []float32  `parquet:"logprobs,optional,list" parquet-element:",split"`
	TokenTexts     []string   `parquet:"token_texts,optional,list"`
	PromptDeltaIDs []int32    `parquet:"prompt_delta_ids,optional,list"`
	PrefixBreak    string     `parquet:"prefix_break,optional,dict"`
}

// ToolCall is a call that the model made; Arguments is the JSON text as sampled.
type ToolCall struct {
	ID        string `parquet:"id"`
	Name      string `parquet:"name,dict"`
	Arguments string `parquet:"arguments"`
}

// Call is one request to the model and its outcome.
type Call struct {
	Model            string `parquet:"model,dict"` // as named in the response
	PolicyVersion    *int64 `parquet:"policy_version,optional"`
	Sampling         string `parquet:"sampling"`    // JSON object: temperature, top_p, seed, max_tokens, ... as sent
	Tools            int32  `parquet:"tools,delta"` // index into tool_sets; -1 for none
	PromptTokens     int32  `parquet:"prompt_tokens,delta"`
	CompletionTokens int32  `parquet:"completion_tokens,delta"`
	CachedTokens     int32  `parquet:"cached_tokens,delta" rollmill:"volatile"`
	Target           bool   `parquet:"target"`                      // false: recorded but not trained
	LogprobsMode     string `parquet:"logprobs_mode,optional,dict"` // LogprobsRaw or LogprobsProcessed
	Function         string `parquet:"function,optional,dict"`
	Error            string `parquet:"error,optional"`
	Endpoint         string `parquet:"endpoint,optional,dict" rollmill:"volatile"`
	LatencyMS        int64  `parquet:"latency_ms,delta" rollmill:"volatile"`
	Attempts         int32  `parquet:"attempts,delta" rollmill:"volatile"`
	Repeated         bool   `parquet:"repeated,optional"` // of the trajectory that is forked; see Trajectory.Repeats
	Replayed         bool   `parquet:"replayed,optional" rollmill:"volatile"`
}

// Candidate is an alternative to a sampled message: one that the agent scored,
// or an answer of the model that the agent did not continue from.
type Candidate struct {
	Message      int32      `parquet:"message,delta"` // index of the message that it is an alternative to; -1 unknown
	Turn         string     `parquet:"turn,optional"`
	Content      string     `parquet:"content"`
	Score        *float64   `parquet:"score,optional"`
	Metadata     string     `parquet:"metadata,optional"`
	Reason       string     `parquet:"reason,optional,dict"` // one of CandidateReasons; null: the agent scored it
	Reasoning    string     `parquet:"reasoning,optional"`
	ToolCalls    []ToolCall `parquet:"tool_calls,optional,list"`
	FinishReason string     `parquet:"finish_reason,optional,dict"`
	Call         *int32     `parquet:"call,optional"` // index into calls
	TokenIDs     []int32    `parquet:"token_ids,optional,list"`
	Logprobs     []float32  `parquet:"logprobs,optional,list" parquet-element:",split"`
	TokenTexts   []string   `parquet:"token_texts,optional,list"`
}

// Artifact is a file that an attempt left: a log, or what a task names.
type Artifact struct {
	Name    string `parquet:"name,dict"`   // its path where the agent worked
	Bytes   int64  `parquet:"bytes,delta"` // of the file; Content may be its beginning only
	Content string `parquet:"content"`     // text, or "data:;base64," and the bytes
}

// NamedReward is one component of a reward. Value is null when the component
// failed or was not computed; Failure says which.
type NamedReward struct {
	Name    string   `parquet:"name,dict"`
	Value   *float64 `parquet:"value,optional"`
	Weight  float64  `parquet:"weight"`
	Failure string   `parquet:"failure,optional,dict"`
	Error   string   `parquet:"error,optional"`
	Reason  string   `parquet:"reason,optional"` // why the value is what it is, as a judge says it
}

// AgentReward is the name of the reward that an agent returned for its own trajectory.
const AgentReward = "agent"

// Trained reports whether a message's sampled tokens are for training: it was
// sampled by a call to the target model and function.
func (t *Trajectory) Trained(i int) bool {
	m := &t.Messages[i]
	return m.Sampled && m.Call >= 0 && int(m.Call) < len(t.Calls) && t.Calls[m.Call].Target
}

// NoTokens reports whether the engine sampled no token for a message, as where it aborted
// a waiting request: lists that are empty, and not unknown.
func (m *Message) NoTokens() bool {
	return m.Sampled && m.TokenIDs != nil && len(m.TokenIDs) == 0 && m.Logprobs != nil && len(m.Logprobs) == 0
}

// AdvantageOf returns the advantage of a message: its own, else the trajectory's; nil without one.
func (t *Trajectory) AdvantageOf(message int) *float64 {
	for i := range t.Advantages {
		if a := &t.Advantages[i]; int(a.Message) == message {
			return &a.Value
		}
	}
	return t.Advantage
}

// TokenAdvantages returns those of a message's tokens; nil where all have the message's.
func (t *Trajectory) TokenAdvantages(message int) []float32 {
	for _, a := range t.Advantages {
		if int(a.Message) == message && len(a.Tokens) == len(t.Messages[message].TokenIDs) {
			return a.Tokens
		}
	}
	return nil
}

// SetTotals sets the tokens that the calls and the trained messages add up to.
func (t *Trajectory) SetTotals() {
	t.PromptTokens, t.CompletionTokens, t.SampledTokens = 0, 0, 0
	for i := range t.Calls {
		t.PromptTokens += t.Calls[i].PromptTokens
		t.CompletionTokens += t.Calls[i].CompletionTokens
	}
	for i := range t.Messages {
		if t.Trained(i) {
			t.SampledTokens += int32(len(t.Messages[i].Logprobs))
		}
	}
}

// Repeats reports whether a call has the answer of the trajectory that is forked. Rows of schemas before 2.4 do not
// say so; there such calls made no request.
func (t *Trajectory) Repeats(call int) bool {
	if slices.ContainsFunc(t.Calls, func(c Call) bool { return c.Repeated }) {
		return t.Calls[call].Repeated
	}
	return t.ForkCall != nil && t.Calls[call].Attempts == 0 && t.Calls[call].Error == ""
}

// DropTokens removes the token ids and texts, the logprobs and the counts of
// sampled tokens from a row whose conversation was redacted: they spell out what
// was removed, and no longer match the text. It reports whether there were any.
func (t *Trajectory) DropTokens() (dropped bool) {
	t.Messages, t.Candidates = slices.Clone(t.Messages), slices.Clone(t.Candidates) // others may hold them
	for i := range t.Messages {
		m := &t.Messages[i]
		dropped = dropped || len(m.TokenIDs)+len(m.Logprobs)+len(m.TokenTexts)+len(m.PromptDeltaIDs) > 0
		m.TokenIDs, m.Logprobs, m.TokenTexts, m.PromptDeltaIDs = nil, nil, nil, nil
	}
	for i := range t.Candidates {
		c := &t.Candidates[i]
		dropped = dropped || len(c.TokenIDs)+len(c.Logprobs)+len(c.TokenTexts) > 0
		c.TokenIDs, c.Logprobs, c.TokenTexts = nil, nil, nil
	}
	t.TokenSource, t.SampledTokens = "", 0
	return dropped
}

// Group returns the id of the trajectory's group: its group_id, or before it was
// grouped that of its example and epoch, or of a fork that of its prefix.
func (t *Trajectory) Group() string {
	if t.GroupID != "" {
		return t.GroupID
	}
	return GroupOf(t.ExampleID, int(t.Epoch), t.ForkedFrom, t.ForkCall)
}

// Path returns the indexes of the messages from the root to leaf.
func (t *Trajectory) Path(leaf int) []int {
	n := 0
	for i := leaf; i >= 0 && i < len(t.Messages) && n <= len(t.Messages); i = int(t.Messages[i].Parent) {
		n++
	}
	path := slices.Grow([]int(nil), n)[:n]
	for i := leaf; n > 0; i = int(t.Messages[i].Parent) {
		n--
		path[n] = i
	}
	return path
}

// Leaves returns the indexes of the messages without a continuation, in order.
func (t *Trajectory) Leaves() []int {
	inner := make([]bool, len(t.Messages))
	for i := range t.Messages {
		if p := t.Messages[i].Parent; p >= 0 && int(p) < len(inner) {
			inner[p] = true
		}
	}
	var out []int
	for i, in := range inner {
		if !in {
			out = append(out, i)
		}
	}
	return out
}

// Main returns the main path: root to the leaf under the last sampled message
// of a target call (to the last leaf, when none was sampled).
func (t *Trajectory) Main() []int {
	for i := len(t.Messages) - 1; i >= 0; i-- {
		if t.Trained(i) {
			leaf := i
			for j := i + 1; j < len(t.Messages); j++ {
				if int(t.Messages[j].Parent) == leaf {
					leaf = j
				}
			}
			return t.Path(leaf)
		}
	}
	return t.Path(len(t.Messages) - 1)
}
