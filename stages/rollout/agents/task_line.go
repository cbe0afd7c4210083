package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/rollmill/rollmill/formats/outcomes"
)

// Protocol names what agents are given and answer, and its version: with the same one, no key
// changes its meaning.
const Protocol = "rollmill-agent/1"

// Task describes an attempt to programs and services, as one JSON object.
type Task struct {
	ID           string          `json:"id" jsonschema:"the example's id"`
	Question     string          `json:"question" jsonschema:"empty if the example has none"`
	Answer       string          `json:"answer" jsonschema:"the reference answer; empty if the example has none"`
	Fields       json.RawMessage `json:"fields" jsonschema:"the whole row of the examples"`
	Generation   int             `json:"generation" jsonschema:"which attempt at the example this is, from 0"`
	Epoch        int             `json:"epoch"`
	TrajectoryID string          `json:"trajectory_id" jsonschema:"a worker repeats it in its answer"`
	Seed         *int64          `json:"seed" jsonschema:"of this trajectory; null without --sampling-seed"`
	Work         string          `json:"work,omitempty" jsonschema:"an empty folder for the attempt, removed at its end; after a crash its path is the same"`

	// The model's address, for agents without an environment of their own.
	BaseURL string `json:"base_url,omitempty" jsonschema:"where model calls go, ending in /v1; a program finds it in OPENAI_BASE_URL"`
	APIKey  string `json:"api_key,omitempty" jsonschema:"a key for clients that require one"`
	Model   string `json:"model,omitempty" jsonschema:"the model's name"`

	Protocol string `json:"protocol"`
}

// Task describes the attempt, without the model's address.
func (a Attempt) Task() Task {
	return Task{ID: a.Example.ID, Question: a.Example.Question, Answer: a.Example.Answer, Fields: a.Example.Fields,
		Generation: a.Generation, Epoch: a.Epoch, TrajectoryID: a.TrajectoryID, Seed: a.Seed, Work: a.Work, Protocol: Protocol}
}

// TaskLine describes the attempt with the model's address, as Line. It takes a pointer since attempts that wait keep
// their stacks: a copy of an attempt is a tenth of one.
func (a *Attempt) TaskLine() ([]byte, error) {
	t := a.Task()
	t.BaseURL, t.APIKey, t.Model = a.BaseURL, a.APIKey, a.Model
	return t.Line()
}

// WorkIn makes the attempt's folder, without what a process that died left there, and returns
// how to remove it.
func (a Attempt) WorkIn() (remove func(), err error) {
	if a.Work == "" {
		return func() {}, nil
	}
	remove = func() { _ = os.RemoveAll(a.Work) }
	remove()
	return remove, os.MkdirAll(a.Work, 0o700)
}

// Line returns the task as one line of JSON. Its error is a *Failure.
func (t Task) Line() ([]byte, error) {
	line, err := json.Marshal(t)
	if err != nil {
		return nil, &Failure{outcomes.FailExample, fmt.Errorf("example %q: its fields are not JSON: %w", t.ID, err)}
	}
	return append(line, '\n'), nil
}

// Environ returns the environment variables of a program that makes the
// attempt. Anthropic's clients add /v1 to their base URL themselves.
func (a Attempt) Environ() []string {
	env := []string{
		"OPENAI_BASE_URL=" + a.BaseURL, "OPENAI_API_BASE=" + a.BaseURL, "OPENAI_API_KEY=" + a.APIKey,
		"OPENAI_MODEL=" + a.Model,
		"ANTHROPIC_BASE_URL=" + strings.TrimSuffix(a.BaseURL, "/v1"), "ANTHROPIC_API_KEY=" + a.APIKey,
		"ANTHROPIC_MODEL=" + a.Model,
		"ROLLMILL_TRAJECTORY_ID=" + a.TrajectoryID, "ROLLMILL_EXAMPLE_ID=" + a.Example.ID,
		fmt.Sprintf("ROLLMILL_GENERATION=%d", a.Generation), fmt.Sprintf("ROLLMILL_EPOCH=%d", a.Epoch),
	}
	if a.Work != "" {
		env = append(env, "ROLLMILL_WORK="+a.Work)
	}
	if a.Seed != nil {
		env = append(env, fmt.Sprintf("ROLLMILL_SEED=%d", *a.Seed))
	}
	return env
}
