package score

import (
	"reflect"

	"github.com/rollmill/rollmill/formats"
)

// light are the columns that Needs Light promises, all of which are adjacent at
// a part's end. The tags are those of formats.Trajectory; a test compares them.
type light struct {
	TrajectoryID     string `parquet:"trajectory_id"`
	Run              string `parquet:"run,dict"`
	ExampleID        string `parquet:"example_id,dict"`
	Epoch            int32  `parquet:"epoch,delta"`
	Generation       int32  `parquet:"generation,delta"`
	Answer           string `parquet:"answer,optional"`
	Status           string `parquet:"status,dict"`
	StopReason       string `parquet:"stop_reason,dict"`
	FailureClass     string `parquet:"failure_class,optional,dict"`
	Model            string `parquet:"model,optional,dict"`
	PolicyVersion    *int64 `parquet:"policy_version,optional"`
	PromptTokens     int32  `parquet:"prompt_tokens,delta"`
	CompletionTokens int32  `parquet:"completion_tokens,delta"`
	SampledTokens    int32  `parquet:"sampled_tokens,delta"`
	Metadata         string `parquet:"metadata,optional"`
}

// carriedColumns are columns of a trajectory that its score repeats.
var carriedColumns = []string{"trajectory_id", "example_id", "epoch", "generation", "status"}

// unread returns the columns of light that no reward reads.
func (b rewardSet) unread() []string {
	read := map[string]bool{}
	for _, name := range carriedColumns {
		read[name] = true
	}
	for _, c := range b {
		some, is := c.Reward.(Columner)
		if !is {
			return nil
		}
		for _, name := range some.Columns() {
			read[name] = true
		}
	}
	var out []string
	for _, f := range formats.FieldsOf(reflect.TypeFor[light]()) {
		if !read[f.Name] {
			out = append(out, f.Name)
		}
	}
	return out
}

func (l *light) trajectory(to *formats.Trajectory) {
	to.TrajectoryID, to.Run, to.ExampleID, to.Epoch, to.Generation = l.TrajectoryID, l.Run, l.ExampleID, l.Epoch, l.Generation
	to.Answer, to.Status, to.StopReason, to.FailureClass = l.Answer, l.Status, l.StopReason, l.FailureClass
	to.Model, to.PolicyVersion, to.Metadata = l.Model, l.PolicyVersion, l.Metadata
	to.PromptTokens, to.CompletionTokens, to.SampledTokens = l.PromptTokens, l.CompletionTokens, l.SampledTokens
}

// storedRewards are the rewards with which a trajectory came.
type storedRewards struct {
	Reward  *float64              `parquet:"reward,optional"`
	Rewards []formats.NamedReward `parquet:"rewards,list"`
}

func (b *storedRewards) trajectory(to *formats.Trajectory) {
	to.Reward, to.Rewards = b.Reward, b.Rewards
}

// head adds the example.
type head struct {
	light
	Example string `parquet:"example"`
}

func (h *head) trajectory(to *formats.Trajectory) {
	h.light.trajectory(to)
	to.Example = h.Example
}

// text adds the messages without their token-level data.
type text struct {
	head
	Messages []textMessage `parquet:"messages,list"`
	Calls    []textCall    `parquet:"calls,list"`
	ToolSets []string      `parquet:"tool_sets,list"`
}

type textMessage struct {
	Parent       int32              `parquet:"parent,delta"`
	Role         string             `parquet:"role,dict"`
	Content      string             `parquet:"content,optional"`
	ContentParts string             `parquet:"content_parts,optional"`
	Name         string             `parquet:"name,optional,dict"`
	Reasoning    string             `parquet:"reasoning,optional"`
	ToolCallID   string             `parquet:"tool_call_id,optional"`
	ToolCalls    []formats.ToolCall `parquet:"tool_calls,list"`
	Sampled      bool               `parquet:"sampled"`
	FinishReason string             `parquet:"finish_reason,optional,dict"`
	Call         int32              `parquet:"call,delta"`
	Branch       string             `parquet:"branch,optional,dict"`
}

type textCall struct {
	Tools    int32  `parquet:"tools,delta"`
	Target   bool   `parquet:"target"`
	Function string `parquet:"function,optional,dict"`
}

func (t *text) trajectory(out *formats.Trajectory) {
	t.head.trajectory(out)
	out.ToolSets = t.ToolSets
	out.Messages = make([]formats.Message, len(t.Messages))
	for i := range t.Messages {
		m := &t.Messages[i]
		out.Messages[i] = formats.Message{
			Parent: m.Parent, Role: m.Role, Content: m.Content, ContentParts: m.ContentParts, Name: m.Name,
			Reasoning: m.Reasoning, ToolCallID: m.ToolCallID, ToolCalls: m.ToolCalls, Sampled: m.Sampled,
			FinishReason: m.FinishReason, Call: m.Call, Branch: m.Branch,
		}
	}
	out.Calls = make([]formats.Call, len(t.Calls))
	for i := range t.Calls {
		out.Calls[i] = formats.Call{Tools: t.Calls[i].Tools, Target: t.Calls[i].Target, Function: t.Calls[i].Function}
	}
}
