package expression

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/storage/fault"
)

// Filter chooses rows. It is safe for concurrent use.
type Filter struct {
	statuses []string
	where    *Program // nil: none
}

// Row is what an expression reads.
type Row struct {
	TrajectoryID     string             `expr:"trajectory_id"`
	Run              string             `expr:"run"`
	ExampleID        string             `expr:"example_id"`
	GroupID          string             `expr:"group_id"`
	Epoch            int                `expr:"epoch"`
	Generation       int                `expr:"generation"`
	Status           string             `expr:"status"`
	StopReason       string             `expr:"stop_reason"`
	FailureClass     string             `expr:"failure_class"`
	Model            string             `expr:"model"`
	Answer           string             `expr:"answer"`
	Reward           float64            `expr:"reward"`    // NaN when there is none
	Advantage        float64            `expr:"advantage"` // NaN when there is none
	Rewards          map[string]float64 `expr:"rewards"`   // by name, without those that have no value
	PromptTokens     int                `expr:"prompt_tokens"`
	CompletionTokens int                `expr:"completion_tokens"`
	SampledTokens    int                `expr:"sampled_tokens"`
	Messages         int                `expr:"messages"` // of all branches
	Calls            int                `expr:"calls"`
	PolicyVersion    int                `expr:"policy_version"` // -1 when unknown
	Metadata         map[string]any     `expr:"metadata"`
}

// The reasons of rows that are left out.
const (
	ByStatus = "status"
	ByWhere  = "where"
)

// NewFilter returns a filter for rows with one of some statuses (none: all) for which
// an expression is true ("": all). An error is a misuse of the flags --status and
// --where.
func NewFilter(statuses []string, where string) (*Filter, error) {
	f := &Filter{statuses: statuses}
	for _, s := range statuses {
		if !slices.Contains(outcomes.Statuses, s) {
			return nil, fault.Errorf(fault.Usage, "it is one of "+strings.Join(outcomes.Statuses, ", "),
				"--status %q is no status", s)
		}
	}
	if where == "" {
		return f, nil
	}
	var err error
	if f.where, err = Condition(where, Row{}); err != nil {
		return nil, fault.Errorf(fault.Usage, "write a condition such as reward > 0.5 && sampled_tokens < 4000",
			"--where %q: %v", where, err)
	}
	return f, nil
}

// Active reports whether the filter may refuse a row.
func (f *Filter) Active() bool { return f.where != nil || len(f.statuses) > 0 }

// Payload reports whether the filter reads columns that only a reader of whole rows has.
func (f *Filter) Payload() bool {
	return f.where != nil && (Reads(f.where)("messages") || Reads(f.where)("calls"))
}

// Absent returns what Program.Absent does, of the condition.
func (f *Filter) Absent() []string {
	if f.where == nil {
		return nil
	}
	return f.where.Absent()
}

// Refuses returns why a row is left out, "" for one that is kept.
func (f *Filter) Refuses(ctx context.Context, t *formats.Trajectory) (string, error) {
	if len(f.statuses) > 0 && !slices.Contains(f.statuses, t.Status) {
		return ByStatus, nil
	}
	if f.where == nil {
		return "", nil
	}
	out, err := f.where.Run(ctx, rowOf(t))
	if err != nil {
		return "", fmt.Errorf("--where: %w", err)
	}
	if ok, _ := out.(bool); !ok {
		return ByWhere, nil
	}
	return "", nil
}

func rowOf(t *formats.Trajectory) Row {
	r := Row{
		TrajectoryID: t.TrajectoryID, Run: t.Run, ExampleID: t.ExampleID, GroupID: t.GroupID, Epoch: int(t.Epoch),
		Generation: int(t.Generation), Status: t.Status,
		StopReason: t.StopReason, FailureClass: t.FailureClass, Model: t.Model, Answer: t.Answer, Reward: math.NaN(),
		Advantage: math.NaN(), Rewards: map[string]float64{},
		PromptTokens: int(t.PromptTokens), CompletionTokens: int(t.CompletionTokens), SampledTokens: int(t.SampledTokens),
		Messages: len(t.Messages), Calls: len(t.Calls), PolicyVersion: -1,
	}
	if t.Reward != nil {
		r.Reward = *t.Reward
	}
	if t.Advantage != nil {
		r.Advantage = *t.Advantage
	}
	if t.PolicyVersion != nil {
		r.PolicyVersion = int(*t.PolicyVersion)
	}
	for _, x := range t.Rewards {
		if x.Value != nil {
			r.Rewards[x.Name] = *x.Value
		}
	}
	_ = json.Unmarshal([]byte(t.Metadata), &r.Metadata) // anything but an object has no fields
	return r
}
