package group

import (
	"encoding/json"
	"fmt"

	"github.com/rollmill/rollmill/formats"
)

// byColumns are the columns that an expression may read.
type byColumns struct {
	TrajectoryID     string         `expr:"trajectory_id"`
	Run              string         `expr:"run"`
	ExampleID        string         `expr:"example_id"`
	Epoch            int            `expr:"epoch"`
	Generation       int            `expr:"generation"`
	Answer           string         `expr:"answer"`
	Status           string         `expr:"status"`
	StopReason       string         `expr:"stop_reason"`
	FailureClass     string         `expr:"failure_class"`
	Model            string         `expr:"model"`
	PolicyVersion    int            `expr:"policy_version"` // -1 when unknown
	PromptTokens     int            `expr:"prompt_tokens"`
	CompletionTokens int            `expr:"completion_tokens"`
	SampledTokens    int            `expr:"sampled_tokens"`
	Metadata         map[string]any `expr:"metadata"`
	Example          map[string]any `expr:"example"` // the row as it came
}

// set makes the columns those of a row, of which only those are read that the
// expression names.
func (e *byColumns) set(t *formats.Trajectory) (err error) {
	*e = byColumns{TrajectoryID: t.TrajectoryID, Run: t.Run, ExampleID: t.ExampleID, Epoch: int(t.Epoch),
		Generation: int(t.Generation), Answer: t.Answer, Status: t.Status, StopReason: t.StopReason,
		FailureClass: t.FailureClass, Model: t.Model, PolicyVersion: -1, PromptTokens: int(t.PromptTokens),
		CompletionTokens: int(t.CompletionTokens), SampledTokens: int(t.SampledTokens)}
	if t.PolicyVersion != nil {
		e.PolicyVersion = int(*t.PolicyVersion)
	}
	if e.Example, err = object("example", t.Example); err == nil {
		e.Metadata, err = object("metadata", t.Metadata)
	}
	return err
}

func object(name, text string) (fields map[string]any, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, fmt.Errorf("its %s is not a JSON object: %w", name, err)
	}
	return fields, nil
}
