// Package agenttest tests what every agent must guarantee: it defines the
// interface agents.Agent. An agent's own test calls Run with a function that
// makes the agent; it then only has to test what is particular to it.
package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// Run tests a kind's settings, and its agents as newAgent makes them. Each
// agent must call the model at least once for an example with the fields "id"
// and "question".
func Run(t *testing.T, k plugin.Kind[agents.Settings], make func(t *testing.T) agents.Agent) {
	RunOn(t, k, make, Example)
}

// RunOn is Run for an agent with examples of its own.
func RunOn(t *testing.T, k plugin.Kind[agents.Settings], make func(t *testing.T) agents.Agent,
	example func(i int) formats.Example) {
	newAgent := func(t *testing.T) agents.Agent {
		a := make(t)
		t.Cleanup(func() {
			_ = a.Close()
			if err := a.Close(); err != nil {
				t.Errorf("closed twice: %v", err)
			}
		})
		return a
	}
	t.Run("describes itself", func(t *testing.T) { describes(t, k, newAgent) })
	t.Run("asks at its own address", func(t *testing.T) { asks(t, newAgent(t), example) })
	t.Run("attempts at once", func(t *testing.T) { atOnce(t, newAgent(t), example) })
	t.Run("fails with the engine", func(t *testing.T) { fails(t, newAgent(t), example) })
	t.Run("ends when told to", func(t *testing.T) { ends(t, newAgent(t), example) })
}

// Examples are examples in memory.
type Examples []formats.Example

// Len returns how many there are.
func (e Examples) Len() int { return len(e) }

// At returns an example.
func (e Examples) At(i int) (formats.Example, error) { return e[i], nil }

// Find finds an example by its id.
func (e Examples) Find(id string) (int, bool, error) {
	i := slices.IndexFunc(e, func(e formats.Example) bool { return e.ID == id })
	return max(i, 0), i >= 0, nil
}

// RunStored tests agents whose attempts were made before. Each must have
// generation 0 of Example(1) and none of Example(99).
func RunStored(t *testing.T, k plugin.Kind[agents.Settings], newAgent func(t *testing.T) agents.Agent) {
	t.Run("describes itself", func(t *testing.T) { describes(t, k, newAgent) })
	stored := newAgent(t).Describe()
	t.Run("has what it has", func(t *testing.T) {
		one, err := stored.Stored(context.Background(), agents.Attempt{Example: Example(1)})
		again, _ := stored.Stored(context.Background(), agents.Attempt{Example: Example(1)})
		if err != nil || one.Status == "" || cmp.Diff(one, again) != "" {
			t.Errorf("%v: %+v", err, one)
		}
	})
	t.Run("fails by name for what it has not", func(t *testing.T) {
		_, err := stored.Stored(context.Background(), agents.Attempt{Example: Example(99)})
		var f *agents.Failure
		if !errors.As(err, &f) || f.Class != outcomes.FailExample || !strings.Contains(err.Error(), `"ex-99"`) {
			t.Errorf("%v", err)
		}
	})
	t.Run("ends when told to", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := stored.Stored(ctx, agents.Attempt{Example: Example(1)}); err == nil {
			t.Error("it reads although its context has ended")
		}
	})
}

// Example returns number i of the suite's examples.
func Example(i int) formats.Example {
	id, question := fmt.Sprintf("ex-%d", i), fmt.Sprintf("what is %d?", i)
	row, _ := json.Marshal(map[string]string{"id": id, "question": question})
	return formats.Example{ID: id, Question: question, Fields: row, Row: i}
}

// Attempt makes attempt number i against an engine and returns what was recorded.
func Attempt(ctx context.Context, r *recorder.Recorder, a agents.Agent, i int) (agents.Result, recorder.Record, error) {
	return AttemptAt(ctx, r, a, Example(i))
}

// AttemptAt is Attempt at an example.
func AttemptAt(ctx context.Context, r *recorder.Recorder, a agents.Agent, e formats.Example) (agents.Result, recorder.Record, error) {
	id := formats.TrajectoryID("run", e.ID, 0, 0)
	s := r.Begin(ctx, id, formats.GroupID(e.ID, 0))
	seed := int64(e.Row)
	result, err := a.Attempt(s.Context(), agents.Attempt{
		Example: e, TrajectoryID: id, Seed: &seed, BaseURL: s.BaseURL(), APIKey: "rollmill", Model: "policy",
	})
	return result, s.End(), err
}

// Recorder starts a recorder in front of an engine, both until the test ends.
func Recorder(t *testing.T, e *recordertest.Engine) *recorder.Recorder {
	t.Helper()
	e.Start(t)
	r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{e.URL()}, Retries: -1},
		Defaults: apis.Defaults{Model: "policy", NoLogprobs: e.Source == ""}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func describes(t *testing.T, k plugin.Kind[agents.Settings], newAgent func(t *testing.T) agents.Agent) {
	plugintest.Settings(t, func() plugin.Settings { return k.New() })
	one, two := newAgent(t).Describe(), newAgent(t).Describe()
	if one.Kind != k.Name {
		t.Errorf("kind %q describes itself as %q", k.Name, one.Kind)
	}
	if _, err := json.Marshal(one.Params); err != nil {
		t.Errorf("parameters: %v", err)
	}
	if (one.Stored == nil) != (two.Stored == nil) || one.Limit < 0 || one.OpenFiles < 0 || one.Paid && one.Stored == nil {
		t.Errorf("%+v", one)
	}
	one.Stored, two.Stored = nil, nil // functions cannot be compared
	if d := cmp.Diff(one, two); d != "" {
		t.Errorf("two agents made alike differ: %s", d)
	}
}

func asks(t *testing.T, a agents.Agent, example func(int) formats.Example) {
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true}
	result, rec, err := AttemptAt(context.Background(), Recorder(t, e), a, example(1))
	if err != nil {
		t.Fatal(err)
	}
	if result.Stop != "" && result.Stop != outcomes.StopDone && result.Stop != outcomes.StopTurns {
		t.Errorf("stop %q", result.Stop)
	}
	if len(rec.Calls) == 0 || rec.Untrainable != nil || rec.TokenSource != schema.TokensChoice || !rec.Calls[0].Target {
		t.Errorf("recorded %+v", rec)
	}
}

func atOnce(t *testing.T, a agents.Agent, example func(int) formats.Example) {
	const n = 8
	r := Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	type end struct {
		calls int
		err   error
	}
	ended := make(chan end, n)
	for i := range n {
		go func() {
			_, rec, err := AttemptAt(context.Background(), r, a, example(i))
			ended <- end{len(rec.Calls), err}
		}()
	}
	for range n {
		if e := <-ended; e.err != nil || e.calls == 0 {
			t.Errorf("%+v", e)
		}
	}
}

func fails(t *testing.T, a agents.Agent, example func(int) formats.Example) {
	e := &recordertest.Engine{Fault: func(int, recordertest.Request) recordertest.Fault {
		return recordertest.Fault{Status: 500}
	}}
	_, rec, err := AttemptAt(context.Background(), Recorder(t, e), a, example(1))
	var f *agents.Failure
	if err == nil || !errors.As(err, &f) || f.Class == "" {
		t.Errorf("an agent whose call failed ended with %v", err)
	}
	if rec.LastCall == nil || rec.LastCall.Class != outcomes.FailEngine {
		t.Errorf("recorded %+v", rec.LastCall)
	}
}

func ends(t *testing.T, a agents.Agent, example func(int) formats.Example) {
	arrived := make(chan struct{}, 1)
	e := &recordertest.Engine{
		Fault:   func(int, recordertest.Request) recordertest.Fault { return recordertest.Fault{Kind: recordertest.Hang} },
		Arrived: func(int, recordertest.Request) { arrived <- struct{}{} },
	}
	r := Recorder(t, e)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, _, err := AttemptAt(ctx, r, a, example(1))
		ended <- err
	}()
	<-arrived
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("an attempt that was ended says that it went well")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the attempt goes on although its context has ended")
	}
}
