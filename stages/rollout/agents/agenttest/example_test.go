package agenttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// Sure is an agent in Go: it asks a question, and asks again whether that is
// so. Its Kind would stand in agents, and --agent call it "sure".
var Sure = plugin.Kind[agents.Settings]{
	Name: "sure",
	Help: "ask each question, and then whether that is so",
	New:  func() agents.Settings { return newSettings() },
}

// Settings are the agent's.
type Settings struct{ Doubt string }

func newSettings() *Settings { return &Settings{Doubt: "Are you sure?"} }

// Declare names them: the flag, the config key, the page and the place in the
// identity follow from this line.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.String(&s.Doubt, "doubt", "ask the second time with this `TEXT`").ID("doubt")
}

// Agent makes the agent.
func (s *Settings) Agent(context.Context, agents.Setup) (agents.Agent, error) {
	return sure{*s}, nil
}

type sure struct{ Settings }

// Describe says all that decides what the agent does: with another doubt, the
// rows are others.
func (a sure) Describe() agents.Description {
	return agents.Description{Kind: "sure", Params: plugin.Identity(&a.Settings, newSettings())}
}

func (sure) Close() error { return nil }

// Attempt asks at the attempt's own address, where each call is recorded.
func (a sure) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	var messages []map[string]string
	for _, text := range []string{at.Example.Question, a.Doubt} {
		messages = append(messages, map[string]string{"role": "user", "content": text})
		answer, err := ask(ctx, at, messages)
		if err != nil {
			return agents.Result{}, &agents.Failure{Class: outcomes.FailEngine, Err: err}
		}
		messages = append(messages, map[string]string{"role": "assistant", "content": answer})
	}
	return agents.Result{Stop: outcomes.StopDone}, nil
}

func ask(ctx context.Context, at agents.Attempt, messages []map[string]string) (string, error) {
	body, err := json.Marshal(map[string]any{"model": at.Model, "messages": messages})
	if err != nil {
		return "", err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, at.BaseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+at.APIKey)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return "", fmt.Errorf("HTTP %d, no answer: %w", resp.StatusCode, err)
	}
	return answer.Choices[0].Message.Content, nil
}

// TestSure holds the agent to what every agent must keep.
func TestSure(t *testing.T) {
	agenttest.Run(t, Sure, func(t *testing.T) agents.Agent {
		a, err := Sure.New().Agent(t.Context(), agents.Setup{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	})
}

// TestSureIsRecorded: one path of four messages, of which two were sampled.
func TestSureIsRecorded(t *testing.T) {
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true}
	a, err := Sure.New().Agent(t.Context(), agents.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	_, rec, err := agenttest.Attempt(context.Background(), agenttest.Recorder(t, e), a, 1)
	if err != nil || rec.Untrainable != nil || len(rec.Messages) != 4 {
		t.Fatalf("%v, %v: %+v", err, rec.Untrainable, rec.Messages)
	}
	for k, at := range []int{1, 3} {
		if m, want := rec.Messages[at], e.Sampled()[k]; !m.Sampled || fmt.Sprint(m.TokenIDs, m.Logprobs) != fmt.Sprint(want.IDs, want.Logprobs) {
			t.Errorf("message %d: %+v, sampled %+v", at, m, want)
		}
	}
}
