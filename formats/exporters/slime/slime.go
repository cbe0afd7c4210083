// Package slime writes rollouts as the fields of slime's Sample, one for each
// JSON line: the token ids as the engine returned them, which of them are
// trained, and their log probabilities. A custom rollout function passes them
// on with Sample.from_dict.
//
// A line is one sequence of tokens, so a trajectory gives one only when the
// engine's ids cover its whole main path, each prompt continues the one before
// it, and nothing else was sampled.
package slime

import (
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/exporters"
	"github.com/rollmill/rollmill/formats/exporters/art"
	"github.com/rollmill/rollmill/formats/number"
	"github.com/rollmill/rollmill/formats/validate"
)

// Format is slime's samples.
var Format = exporters.Format{
	Name: "slime", Help: "slime's samples: token ids, masks, log probabilities", Of: exporters.Groups, Files: []exporters.Extension{exporters.JSONL},
	Lines: exporters.Lines(func(x *exporters.Item) []Sample { return Samples(x.Rows, x.Before, x.Given, x.Skip) }),
	Drift: func() exporters.Drift {
		return &art.Drift{Trainer: "slime", Compat: "slime", Scale: true, Sample: true}
	},
}

// Sample is one sequence.
type Sample struct {
	GroupIndex      int64          `json:"group_index"`
	Index           int64          `json:"index"`
	Prompt          []chat.Message `json:"prompt"`
	Tokens          []int32        `json:"tokens"` // prompt and response
	Response        string         `json:"response"`
	ResponseLength  int            `json:"response_length"` // tokens after the first prompt
	Label           string         `json:"label"`
	Reward          number.Float   `json:"reward"`
	LossMask        []int8         `json:"loss_mask"`         // of the response: 1 means sampled
	RolloutLogProbs number.Floats  `json:"rollout_log_probs"` // of the response; 0 where it was not sampled
	Status          string         `json:"status"`            // completed or truncated
	WeightVersions  []string       `json:"weight_versions"`
	Metadata        map[string]any `json:"metadata"`
}

// Why a trajectory gives no sample, in addition to those of package chat.
const (
	NoIDs    = "no_ids"    // the engine's ids do not cover it
	Breaks   = "breaks"    // a prompt does not continue the one before it
	NoReward = "no_reward" // it has no reward
	Floored  = "logprob"   // a log probability is NaN, or the engine's floor (-9999)
)

// Samples returns the samples of a group. index is the number of the first
// sample; skip is called with the reason for each member that gives none.
func Samples(rows []formats.Trajectory, group, index int64, skip func(reason string)) []Sample {
	var out []Sample
	for i := range rows {
		s, reason := sample(&rows[i])
		if reason != "" {
			skip(reason)
			continue
		}
		s.GroupIndex, s.Index = group, index+int64(len(out))
		out = append(out, s)
	}
	return out
}

func sample(t *formats.Trajectory) (s Sample, reason string) {
	prompt, reason := chat.PromptOf([]formats.Trajectory{*t})
	switch {
	case reason != "":
		return s, reason
	case t.Reward == nil:
		return s, NoReward
	}
	s = Sample{Prompt: prompt.Prompt, Label: formats.AnswerOf(t.Example), Reward: number.Float(*t.Reward), Status: "completed", Metadata: map[string]any{"trajectory_id": t.TrajectoryID, "example_id": t.ExampleID}}
	if t.Status == formats.StatusTruncated {
		s.Status = "truncated"
	}
	if s.WeightVersions = []string{}; t.PolicyVersion != nil {
		s.WeightVersions = append(s.WeightVersions, strconv.FormatInt(*t.PolicyVersion, 10))
	}
	return s, s.add(t)
}

// add appends the tokens of the main path.
func (s *Sample) add(t *formats.Trajectory) string {
	on := make([]bool, len(t.Messages))
	first := true
	for _, i := range t.Main() {
		m := &t.Messages[i]
		on[i] = true
		if !t.Trained(i) {
			continue
		}
		switch {
		case len(m.TokenIDs) == 0 || len(m.Logprobs) != len(m.TokenIDs) || first && len(m.PromptDeltaIDs) == 0:
			return NoIDs
		case validate.Floored(m.Logprobs) >= 0:
			return Floored
		case !first && m.PrefixBreak != "":
			return Breaks
		case !first && m.PromptDeltaIDs == nil:
			return NoIDs
		}
		if s.Tokens = append(s.Tokens, m.PromptDeltaIDs...); !first {
			for range m.PromptDeltaIDs {
				s.LossMask, s.RolloutLogProbs = append(s.LossMask, 0), append(s.RolloutLogProbs, 0)
			}
		}
		s.Tokens = append(s.Tokens, m.TokenIDs...)
		for _, p := range m.Logprobs {
			s.LossMask, s.RolloutLogProbs = append(s.LossMask, 1), append(s.RolloutLogProbs, p)
		}
		s.Response = m.Content
		first = false
	}
	for i := range t.Messages {
		if t.Trained(i) && !on[i] {
			return chat.Branches
		}
	}
	s.ResponseLength = len(s.LossMask)
	return ""
}
