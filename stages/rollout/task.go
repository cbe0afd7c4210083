package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Task describes an attempt to programs and services, as one JSON object.
type Task struct {
	ID           string          `json:"id"`
	Question     string          `json:"question"`
	Answer       string          `json:"answer"`
	Fields       json.RawMessage `json:"fields"`
	Generation   int             `json:"generation"`
	Epoch        int             `json:"epoch"`
	TrajectoryID string          `json:"trajectory_id"`
	Seed         *int64          `json:"seed"`

	// The model's address, for agents without an environment of their own.
	BaseURL string `json:"base_url,omitempty"`
	APIKey  string `json:"api_key,omitempty"`
	Model   string `json:"model,omitempty"`
}

// Task describes the attempt, without the model's address.
func (a Attempt) Task() Task {
	return Task{ID: a.Example.ID, Question: a.Example.Question, Answer: a.Example.Answer, Fields: a.Example.Fields,
		Generation: a.Generation, Epoch: a.Epoch, TrajectoryID: a.TrajectoryID, Seed: a.Seed}
}

// TaskAt describes the attempt with the model's address.
func (a Attempt) TaskAt() Task {
	t := a.Task()
	t.BaseURL, t.APIKey, t.Model = a.BaseURL, a.APIKey, a.Model
	return t
}

// Line returns the task as one line of JSON. Its error is a *Failure.
func (t Task) Line() ([]byte, error) {
	line, err := json.Marshal(t)
	if err != nil {
		return nil, &Failure{formats.FailExample, fmt.Errorf("example %q: its fields are not JSON: %w", t.ID, err)}
	}
	return append(line, '\n'), nil
}

// Environ returns the environment variables of a program that makes the
// attempt. Anthropic's clients add /v1 to their base URL themselves.
func (a Attempt) Environ() []string {
	env := []string{
		"OPENAI_BASE_URL=" + a.BaseURL, "OPENAI_API_BASE=" + a.BaseURL, "OPENAI_API_KEY=" + a.APIKey, "OPENAI_MODEL=" + a.Model,
		"ANTHROPIC_BASE_URL=" + strings.TrimSuffix(a.BaseURL, "/v1"), "ANTHROPIC_API_KEY=" + a.APIKey, "ANTHROPIC_MODEL=" + a.Model,
		"ROLLMILL_TRAJECTORY_ID=" + a.TrajectoryID, "ROLLMILL_EXAMPLE_ID=" + a.Example.ID,
		fmt.Sprintf("ROLLMILL_GENERATION=%d", a.Generation), fmt.Sprintf("ROLLMILL_EPOCH=%d", a.Epoch),
	}
	if a.Seed != nil {
		env = append(env, fmt.Sprintf("ROLLMILL_SEED=%d", *a.Seed))
	}
	return env
}

// ReadResult reads the last output of a program or service:
// {"answer":"…","reward":1,"metadata":{…},"stop":"done|turns","error":"…"}, each
// field optional. Output that does not begin with "{" is ignored.
func ReadResult(out []byte) (Result, error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 || out[0] != '{' {
		return Result{}, nil
	}
	var result struct {
		Answer   json.RawMessage `json:"answer"`
		Reward   json.RawMessage `json:"reward"`
		Metadata json.RawMessage `json:"metadata"`
		Stop     string          `json:"stop"`
		Error    string          `json:"error"`
	}
	bad := func(err error) (Result, error) {
		return Result{}, &Failure{formats.FailAgentOutput, fmt.Errorf("the agent's output: %w", err)}
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return bad(err)
	}
	if result.Error != "" {
		return Result{}, &Failure{formats.FailAgentExit, fmt.Errorf("the agent failed: %s", result.Error)}
	}
	if result.Stop != "" && result.Stop != formats.StopDone && result.Stop != formats.StopTurns {
		return bad(fmt.Errorf("stop %q is neither %q nor %q", result.Stop, formats.StopDone, formats.StopTurns))
	}
	made := Result{Stop: result.Stop}
	if !read(result.Answer, &made.Answer) {
		return bad(fmt.Errorf("answer %s is not a string; encode other values as text", excerpt(result.Answer)))
	}
	if !read(result.Reward, &made.Reward) {
		return bad(fmt.Errorf("reward %s is not a number", excerpt(result.Reward)))
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
