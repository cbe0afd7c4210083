package foreign

import (
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// fixture returns small random groups, and one made by hand of what forms
// differ in: images, right-to-left text, branches, rewritten prompts, tools,
// failures, numbers that JSON does not have.
func fixture() [][]formats.Trajectory {
	o := randomtest.Options{Groups: 3, Generations: 3, Scored: true, Failures: 0.2, Branches: 0.3, SampledTokens: 40,
		PromptTokens: 40, Messages: 6}
	out := slices.Collect(randomtest.Trajectories(11, o))
	for _, group := range out {
		for i := range group {
			advantage := float64(i) - 1
			group[i].Advantage, group[i].GroupID = &advantage, formats.GroupID(group[i].ExampleID, 0)
		}
	}
	return append(out, []formats.Trajectory{tools(), branched(), empty(), texts()})
}

func base(id string) formats.Trajectory {
	reward, advantage, version, value := 0.25, -0.5, int64(math.MaxInt64), 0.25
	return formats.Trajectory{
		TrajectoryID: id, Run: "hand", ExampleID: "מזג האוויר", Epoch: 2, GroupID: "מזג האוויר@2",
		Example: `{"id": "rollmill/weather", "question": "מה מזג האוויר?", "n": 9007199254740993, "task_digest": "` + strings.Repeat("0f", 32) + `"}`,
		Status:  outcomes.StatusOK, StopReason: outcomes.StopDone, Model: "policy", PolicyVersion: &version,
		TokenSource: schema.TokensChoice,
		Reward:      &reward, Rewards: []formats.NamedReward{{Name: "correct", Value: &value, Weight: 1},
			{Name: "style", Weight: 0.5, Failure: outcomes.RewardTimeout, Error: "5s"}},
		Advantage: &advantage, ShapedRewards: []float64{0.125, math.Inf(1)}, StartedAt: 1_750_000_000_000_001,
		FinishedAt: 1_750_000_002_500_000, Metadata: `{"level": 3}`,
		ToolSets: []string{`[{"type": "function", "function": {"name": "weather", "description": "the weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]`},
		Calls: []formats.Call{
			{Model: "policy", PolicyVersion: &version, Sampling: `{"temperature": 0.7, "max_tokens": 64}`, PromptTokens: 4,
				CompletionTokens: 3, CachedTokens: 1, Target: true, LatencyMS: 120, Attempts: 1},
			{Model: "policy", PolicyVersion: &version, Sampling: `{"temperature": 0.7}`, PromptTokens: 9, CompletionTokens: 2,
				Target: true, LatencyMS: 80, Attempts: 1},
		},
		PromptTokens: 13, CompletionTokens: 5, SampledTokens: 5, Attempts: 1,
	}
}

// tools has an image, two tool calls of which one has no JSON, and
// right-to-left text.
func tools() formats.Trajectory {
	t := base("tools")
	t.Answer = "בחיפה 21°, שמש ☀"
	t.Messages = []formats.Message{
		{Parent: -1, Role: "system", Content: "ענה בעברית.", Call: -1},
		{Parent: 0, Role: "user",
			ContentParts: `[{"type": "text", "text": "מה מזג האוויר כאן?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]`, Call: -1},
		{Parent: 1, Role: "assistant", Reasoning: "I look it up.", Sampled: true, Call: 0, FinishReason: "tool_calls",
			TokenIDs: []int32{10, 11, 12}, Logprobs: []float32{-0.1, -1e-7, -3},
			PromptDeltaIDs: []int32{1, 2, 3, 4},
			ToolCalls: []formats.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city": "חיפה"}`},
				{ID: "b", Name: "weather", Arguments: `{"city": `}}},
		{Parent: 2, Role: "tool", ToolCallID: "a", Content: "21°", Call: -1},
		{Parent: 3, Role: "tool", ToolCallID: "b", Content: "error: not JSON\n\tline 2 \u2028 <&>", Call: -1},
		{Parent: 4, Role: "assistant", Content: t.Answer, Sampled: true, Call: 1, FinishReason: "stop",
			TokenIDs: []int32{13, 14}, Logprobs: []float32{-0.5, float32(math.Inf(-1))}, PromptDeltaIDs: []int32{5, 6}},
	}
	return t
}

// branched has a second answer to the same prompt, a rewritten prompt, and a
// call that is not trained.
func branched() formats.Trajectory {
	t := base("branched/1 \"x\"")
	t.Generation, t.Reward, t.Rewards, t.Status, t.StopReason = 1, nil, nil, outcomes.StatusTruncated, outcomes.StopLength
	score := 0.5
	t.Candidates = []formats.Candidate{{Message: 1, Turn: "1", Content: "another", Score: &score}}
	t.Calls = append(t.Calls, formats.Call{Model: "judge", Sampling: `{}`, Tools: -1},
		formats.Call{Model: "policy", Sampling: `{}`, Tools: -1, Target: true, Error: "HTTP 500"})
	t.Messages = []formats.Message{
		{Parent: -1, Role: "user", Content: "hello", Name: "Ada", Call: -1},
		{Parent: 0, Role: "assistant", Content: "hi", Sampled: true, Call: 0, FinishReason: "stop", TokenIDs: []int32{10},
			Logprobs: []float32{-0.25}, PromptDeltaIDs: []int32{1, 2}},
		{Parent: 0, Role: "assistant", Content: "yo", Sampled: true, Call: 2, Branch: "retry", FinishReason: "stop"},
		{Parent: 1, Role: "user", Content: "and now?", Call: -1},
		{Parent: 3, Role: "assistant", Content: "more", Sampled: true, Call: 1, FinishReason: "length",
			TokenIDs: []int32{20, 21}, Logprobs: []float32{-1, -2}, PromptDeltaIDs: []int32{1, 7, 8}, PrefixBreak: "template"},
	}
	return t
}

// empty failed before its first message.
func empty() formats.Trajectory {
	t := base("empty")
	t.Generation, t.Reward, t.Rewards, t.Advantage, t.ShapedRewards, t.Calls, t.ToolSets = 2, nil, nil, nil, nil, nil, nil
	t.Status, t.StopReason, t.FailureClass, t.Error = outcomes.StatusFailed, outcomes.StopError, outcomes.FailAgentExit,
		"exit status 1, \"quoted\", and\na second line"
	t.PolicyVersion, t.Answer = nil, ""
	return t
}

// texts has roles of other names, an assistant's message that nobody sampled,
// and an engine that gave texts instead of token ids.
func texts() formats.Trajectory {
	nan := math.NaN()
	t := base("texts")
	t.Generation, t.Reward = 3, &nan
	t.Rewards, t.TokenSource = []formats.NamedReward{{Name: "correct", Value: &nan, Weight: 1}}, ""
	t.Messages = []formats.Message{
		{Parent: -1, Role: "developer", Content: "be brief", Call: -1},
		{Parent: 0, Role: "user", Content: "2+2", Call: -1},
		{Parent: 1, Role: "assistant", Content: "three", Call: -1},
		{Parent: 2, Role: "user", Content: "sure?", Call: -1},
		{Parent: 3, Role: "assistant", Content: "4", Sampled: true, Call: 0, FinishReason: "stop",
			Logprobs: []float32{-0.01}, TokenTexts: []string{"4"}},
	}
	return t
}
