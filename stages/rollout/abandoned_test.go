package rollout

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// endless asks the model once, and ends when it is released.
type endless chan struct{}

func (endless) Describe() agents.Description { return agents.Description{Kind: "endless"} }

func (endless) Close() error { return nil }

func (e endless) Attempt(ctx context.Context, a agents.Attempt) (agents.Result, error) {
	resp, err := a.HTTP.Post(a.BaseURL+"/chat/completions", "application/json",
		strings.NewReader(`{"model":"policy","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		return agents.Result{}, err
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		return agents.Result{}, errors.New(resp.Status)
	}
	<-e
	return agents.Result{}, nil
}

// TestAgentThatNeverEndsIsAbandoned: its trajectory times out, and the run
// ends.
func TestAgentThatNeverEndsIsAbandoned(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 50 * time.Millisecond
	engine := &recordertest.Engine{}
	engine.Start(t)
	agent := make(endless)
	defer close(agent)
	o := Options{Run: "run", Out: stages.Output{URI: filepath.Join(t.TempDir(), "out")}, Examples: inMemory{{ID: "e"}}, Agent: agent,
		Model: "policy", Endpoints: []string{engine.URL()}, TrajectoryTimeout: 200 * time.Millisecond, MaxFailureRate: new(1.0)}
	report, err := Run(t.Context(), o)
	if err != nil || report.Failures[outcomes.FailTimeout] != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}
