package rules

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/storage/fault"
)

// Group is what an expression may read of a group, named as the columns of
// _groups; statistics are of its valid members, NaN if there is none.
type Group struct {
	ID            string    `expr:"id"`
	ExampleID     string    `expr:"example_id"` // "" for a group of several
	Epoch         int       `expr:"epoch"`
	Count         int       `expr:"count"`
	Valid         int       `expr:"valid"`
	Failed        int       `expr:"failed"`
	Unscored      int       `expr:"unscored"`
	Mean          float64   `expr:"mean"`
	Std           float64   `expr:"std"` // divisor n
	StdPop        float64   `expr:"std_pop"`
	StdSample     float64   `expr:"std_sample"` // divisor n-1; NaN under 2 valid
	Min           float64   `expr:"min"`
	Max           float64   `expr:"max"`
	Spread        float64   `expr:"spread"`
	Solved        float64   `expr:"solved"` // share
	SolvedCount   int       `expr:"solved_count"`
	PassAtK       []float64 `expr:"pass_at_k"` // for k = 1, 2, ...: pass_at_k[0] is of 1
	SampledTokens int       `expr:"sampled_tokens"`
	LengthMean    float64   `expr:"length_mean"` // sampled tokens a valid member
}

// Trajectory is what an expression may read of a member.
type Trajectory struct {
	ID               string             `expr:"id"`
	Generation       int                `expr:"generation"`
	Status           string             `expr:"status"`
	StopReason       string             `expr:"stop_reason"`
	Model            string             `expr:"model"`
	Answer           string             `expr:"answer"`
	Reward           float64            `expr:"reward"`
	Advantage        float64            `expr:"advantage"` // NaN when there is none
	Rewards          map[string]float64 `expr:"rewards"`   // by name, without those that have no value
	PromptTokens     int                `expr:"prompt_tokens"`
	CompletionTokens int                `expr:"completion_tokens"`
	SampledTokens    int                `expr:"sampled_tokens"`
	Messages         int                `expr:"messages"` // of the main path
	Calls            int                `expr:"calls"`
	PolicyVersion    int                `expr:"policy_version"` // -1 when unknown
	Metadata         map[string]any     `expr:"metadata"`
}

type environment struct {
	Group      Group      `expr:"group"`
	Trajectory Trajectory `expr:"trajectory"`
}

type program struct {
	text string
	*expression.Program
}

// compile reports whether the expression is about members.
func compile(text string) (p *expression.Program, members bool, err error) {
	p, err = expression.Condition(text, environment{})
	if err != nil {
		return nil, false, fault.Errorf(fault.Usage,
			"write a condition such as 0 < group.mean && trajectory.sampled_tokens < 4000",
			"curate: --filter %q: %w", text, err)
	}
	return p, expression.Reads(p)("trajectory"), nil
}

func trajectory(r curate.Row) Trajectory {
	m, t := r.Member, r.Trajectory
	out := Trajectory{ID: m.TrajectoryID, Generation: int(m.Generation), Status: m.Status, StopReason: t.StopReason,
		Model: t.Model, Answer: t.Answer,
		Reward: number(m.Reward), Advantage: number(m.Advantage), Rewards: map[string]float64{},
		PromptTokens:     int(t.PromptTokens),
		CompletionTokens: int(t.CompletionTokens), SampledTokens: int(t.SampledTokens), Messages: len(t.Main()),
		Calls: len(t.Calls), PolicyVersion: -1}
	for _, x := range m.Rewards {
		if x.Value != nil {
			out.Rewards[x.Name] = *x.Value
		}
	}
	if t.PolicyVersion != nil {
		out.PolicyVersion = int(*t.PolicyVersion)
	}
	if t.Metadata != "" {
		_ = json.Unmarshal([]byte(t.Metadata), &out.Metadata) // anything but an object has no fields
	}
	return out
}
