package score

import "github.com/rollmill/rollmill/formats"

// head are the light columns: what Needs Head promises. The tags are those of
// formats.Trajectory; a test holds them together.
type head struct {
	TrajectoryID     string `parquet:"trajectory_id"`
	Run              string `parquet:"run,dict"`
	ExampleID        string `parquet:"example_id,dict"`
	Epoch            int32  `parquet:"epoch,delta"`
	Generation       int32  `parquet:"generation,delta"`
	Example          string `parquet:"example"`
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

func (h *head) trajectory() *formats.Trajectory {
	return &formats.Trajectory{
		TrajectoryID: h.TrajectoryID, Run: h.Run, ExampleID: h.ExampleID, Epoch: h.Epoch, Generation: h.Generation,
		Example: h.Example, Answer: h.Answer, Status: h.Status, StopReason: h.StopReason, FailureClass: h.FailureClass,
		Model: h.Model, PolicyVersion: h.PolicyVersion, PromptTokens: h.PromptTokens,
		CompletionTokens: h.CompletionTokens, SampledTokens: h.SampledTokens, Metadata: h.Metadata,
	}
}

// text adds the messages without what was sampled into them token by token.
type text struct {
	TrajectoryID     string        `parquet:"trajectory_id"`
	Run              string        `parquet:"run,dict"`
	ExampleID        string        `parquet:"example_id,dict"`
	Epoch            int32         `parquet:"epoch,delta"`
	Generation       int32         `parquet:"generation,delta"`
	Example          string        `parquet:"example"`
	Messages         []textMessage `parquet:"messages,list"`
	Calls            []textCall    `parquet:"calls,list"`
	ToolSets         []string      `parquet:"tool_sets,list"`
	Answer           string        `parquet:"answer,optional"`
	Status           string        `parquet:"status,dict"`
	StopReason       string        `parquet:"stop_reason,dict"`
	FailureClass     string        `parquet:"failure_class,optional,dict"`
	Model            string        `parquet:"model,optional,dict"`
	PolicyVersion    *int64        `parquet:"policy_version,optional"`
	PromptTokens     int32         `parquet:"prompt_tokens,delta"`
	CompletionTokens int32         `parquet:"completion_tokens,delta"`
	SampledTokens    int32         `parquet:"sampled_tokens,delta"`
	Metadata         string        `parquet:"metadata,optional"`
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

func (t *text) trajectory() *formats.Trajectory {
	out := &formats.Trajectory{
		TrajectoryID: t.TrajectoryID, Run: t.Run, ExampleID: t.ExampleID, Epoch: t.Epoch, Generation: t.Generation,
		Example: t.Example, ToolSets: t.ToolSets, Answer: t.Answer, Status: t.Status, StopReason: t.StopReason,
		FailureClass: t.FailureClass, Model: t.Model, PolicyVersion: t.PolicyVersion, PromptTokens: t.PromptTokens,
		CompletionTokens: t.CompletionTokens, SampledTokens: t.SampledTokens, Metadata: t.Metadata,
	}
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
	return out
}
