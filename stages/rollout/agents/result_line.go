package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Output is what a program or service answers to a Task.
type Output struct {
	TrajectoryID string          `json:"trajectory_id,omitempty" jsonschema:"of the task; required of workers only"`
	Answer       json.RawMessage `json:"answer,omitempty" jsonschema:"the answer, if it is not what the model wrote last"`
	Reward       json.RawMessage `json:"reward,omitempty" jsonschema:"stored as the reward named agent"`
	Rewards      json.RawMessage `json:"rewards,omitempty" jsonschema:"further rewards, numbers by name, stored with weight 0"`
	Metadata     json.RawMessage `json:"metadata,omitempty" jsonschema:"stored with the trajectory"`
	Stop         string          `json:"stop,omitempty" jsonschema:"turns if it ran out of turns"`
	Error        string          `json:"error,omitempty" jsonschema:"why the attempt failed; the trajectory then has no reward"`
	Traceback    string          `json:"traceback,omitempty" jsonschema:"with error: the whole of it, kept once for each error"`
}

// ReadResult reads the last output of a program or service, an Output. Output
// that does not begin with "{" is ignored; agent "command" leaves out text before a
// result.
func ReadResult(out []byte) (Result, error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 || out[0] != '{' {
		return Result{}, nil
	}
	var result Output
	bad := func(err error) (Result, error) {
		return Result{}, &Failure{outcomes.FailAgentOutput, fmt.Errorf("the agent's output: %w", err)}
	}
	lost, err := jsontext.Foreign(out, &result)
	if err != nil {
		return bad(err)
	}
	if result.Error != "" {
		err := fmt.Errorf("the agent failed: %s", result.Error)
		if result.Traceback != "" {
			err = &traced{err, result.Traceback}
		}
		return Result{}, &Failure{outcomes.FailAgentExit, err}
	}
	if result.Stop != "" && result.Stop != outcomes.StopDone && result.Stop != outcomes.StopTurns {
		return bad(fmt.Errorf("stop %q is neither %q nor %q", result.Stop, outcomes.StopDone, outcomes.StopTurns))
	}
	made := Result{Stop: result.Stop, Lost: lost}
	if !read(result.Answer, &made.Answer) {
		return bad(fmt.Errorf("answer %s is not a string; encode other values as text", excerpt(result.Answer)))
	}
	if !read(result.Reward, &made.Reward) {
		return bad(fmt.Errorf("reward %s is not a number", excerpt(result.Reward)))
	}
	var rewards map[string]*float64
	if result.Rewards != nil && json.Unmarshal(result.Rewards, &rewards) != nil {
		return bad(fmt.Errorf("rewards %s are not numbers by name", excerpt(result.Rewards)))
	}
	for name, value := range rewards {
		if value == nil && slices.Contains(lost, "rewards."+name) {
			continue
		}
		if value == nil || name == "" {
			return bad(fmt.Errorf("reward %q has no name or no number", name))
		}
		if made.Rewards == nil {
			made.Rewards = map[string]float64{}
		}
		made.Rewards[name] = *value
	}
	if string(result.Metadata) == "null" {
		return made, nil
	}
	if made.Metadata = result.Metadata; made.Metadata != nil && made.Metadata[0] != '{' {
		return bad(errors.New("metadata is not an object"))
	}
	return made, nil
}

// read decodes an optional field; null is nil.
func read[T any](field json.RawMessage, into **T) bool {
	return field == nil || json.Unmarshal(field, into) == nil
}

func excerpt(field json.RawMessage) []byte { return field[:min(len(field), 60)] }
