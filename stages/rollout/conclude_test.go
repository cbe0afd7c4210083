package rollout_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// careless asks the model as often as it says and never minds an error.
type careless struct{ calls int }

func (careless) Describe() agents.Description { return agents.Description{Kind: "careless"} }

func (careless) Close() error { return nil }

func (c careless) Attempt(ctx context.Context, a agents.Attempt) (agents.Result, error) {
	messages := []formats.Message{{Role: "user", Content: a.Example.Question}}
	for range c.calls {
		if m, err := (openai.Client{}).Chat(ctx, nil, a.BaseURL, a.APIKey, a.Model, messages, nil); err == nil {
			messages = append(messages, m)
		}
		messages = append(messages, formats.Message{Role: "user", Content: "go on"})
	}
	return agents.Result{}, nil
}

// verdict makes one trajectory of a careless agent's.
func verdict(t *testing.T, e *engine, calls int, change ...func(*rollout.Options)) (formats.Trajectory, *dataset.Dataset) {
	t.Helper()
	o := options(newEngine(t, e), filepath.Join(t.TempDir(), "out"), 1)
	all := 1.0
	o.Agent, o.Generations, o.Retries, o.MaxInitialFailures, o.MaxFailureRate = careless{calls}, 1, new(0), -1, &all
	for _, c := range change {
		c(&o)
	}
	if _, err := rollout.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(context.Background(), o.Out.URI, dataset.OpenOptions{AcceptGates: []string{"max-failure-rate"}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.ReadAll[formats.Trajectory](context.Background(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	return rows[0], d
}

// failing makes the calls of these numbers fail.
func failing(status int, calls ...int) func(int, recordertest.Request) recordertest.Fault {
	return func(n int, _ recordertest.Request) recordertest.Fault {
		for _, c := range calls {
			if c == n {
				return recordertest.Fault{Status: status}
			}
		}
		return recordertest.Fault{}
	}
}

// TestAnAgentThatSwallowsAnEngineErrorFails, unless it recovered or such errors
// are tolerated; the failed calls are counted in each case.
func TestAnAgentThatSwallowsAnEngineErrorFails(t *testing.T) {
	tolerant := func(o *rollout.Options) { o.TolerateEngineErrors = true }
	for name, c := range map[string]struct {
		status int
		fails  []int
		change func(*rollout.Options)
		class  string
	}{
		"last call failed":           {500, []int{1}, func(*rollout.Options) {}, outcomes.FailEngine},
		"last call refused":          {404, []int{1}, func(*rollout.Options) {}, outcomes.FailEngineRefused},
		"recovered":                  {500, []int{0}, func(*rollout.Options) {}, ""},
		"last call failed, accepted": {500, []int{1}, tolerant, ""},
	} {
		t.Run(name, func(t *testing.T) {
			row, d := verdict(t, &engine{Fault: failing(c.status, c.fails...)}, 2, c.change)
			if row.FailureClass != c.class || (c.class == "") != (row.Status == outcomes.StatusOK) {
				t.Errorf("%s %s: %s", row.Status, row.FailureClass, row.Error)
			}
			if d.Facts["failed_calls"] != 1 {
				t.Errorf("facts %v", d.Facts)
			}
		})
	}
}

// TestAnswersThatTheEngineBrokeOffFail: the closed list of finish reasons.
func TestAnswersThatTheEngineBrokeOffFail(t *testing.T) {
	for reason, want := range map[string]string{
		"stop": "ok", "tool_calls": "ok", "function_call": "ok", "end_turn": "ok",
		"length": "truncated", "max_tokens": "truncated",
		"abort": "failed", "error": "failed", "cancelled": "failed", "content_filter": "failed", "unheard_of": "failed", "null": "failed",
	} {
		e := func() *engine {
			return &engine{Script: func(recordertest.Request) recordertest.Reply {
				return recordertest.Reply{Content: "well", Finish: reason}
			}}
		}
		row, _ := verdict(t, e(), 1)
		if row.Status != want || (want == "failed") != (row.FailureClass == outcomes.FailUnfinished) ||
			want == "failed" && !strings.Contains(row.Error, "--accept-finish "+reason) {
			t.Errorf("%s: %s %s %s, want %s", reason, row.Status, row.FailureClass, row.Error, want)
		}
		if want == "failed" {
			for _, stream := range []bool{false, true} {
				row, _ := verdict(t, e(), 1, func(o *rollout.Options) { o.AcceptFinish, o.Agent = []string{reason}, talker{turns: 2, stream: stream} })
				if row.Status != outcomes.StatusOK || len(row.Messages) < 4 {
					t.Errorf("%s, accepted, stream %v: %s %s", reason, stream, row.Status, row.Error)
				}
			}
		}
	}
}

// TestAnOldBrokenAnswerDoesNotCount: the agent asked again and was answered.
func TestAnOldBrokenAnswerDoesNotCount(t *testing.T) {
	e := &engine{Script: func(q recordertest.Request) recordertest.Reply {
		if len(q.Messages) == 1 {
			return recordertest.Reply{Content: "we", Finish: "abort"}
		}
		return recordertest.Reply{Content: "well"}
	}}
	if row, _ := verdict(t, e, 2); row.Status != outcomes.StatusOK {
		t.Errorf("%s %s", row.Status, row.Error)
	}
}

// hasty is an agent that gives up on its second call when the engine has it, and ends well. It goes on if again is set.
type hasty struct {
	arrived chan bool
	again   bool
}

func (hasty) Describe() agents.Description { return agents.Description{Kind: "hasty"} }

func (hasty) Close() error { return nil }

func (h hasty) Attempt(ctx context.Context, a agents.Attempt) (agents.Result, error) {
	messages := []map[string]any{{"role": "user", "content": a.Example.Question}}
	answer, err := (talker{}).ask(ctx, a, messages)
	if err != nil {
		return agents.Result{}, err
	}
	messages = append(messages, map[string]any{"role": "assistant", "content": answer}, map[string]any{"role": "user", "content": "go on"})
	hurried, cancel := context.WithCancel(ctx)
	go func() { <-h.arrived; cancel() }()
	if _, err := (talker{}).ask(hurried, a, messages); err == nil {
		return agents.Result{}, errors.New("it was answered")
	}
	if !h.again {
		return agents.Result{}, nil
	}
	_, err = (talker{}).ask(ctx, a, messages)
	return agents.Result{}, err
}

// TestAnAgentThatGivesUpOnACallFails, unless it retries; the manifest counts such calls.
func TestAnAgentThatGivesUpOnACallFails(t *testing.T) {
	for again, class := range map[bool]string{false: outcomes.FailAbandoned, true: ""} {
		arrived := make(chan bool, 1)
		row, d := verdict(t, &engine{Fault: func(n int, _ recordertest.Request) recordertest.Fault {
			if n != 1 {
				return recordertest.Fault{}
			}
			arrived <- true
			return recordertest.Fault{Kind: recordertest.Hang}
		}}, 0, func(o *rollout.Options) { o.Agent = hasty{arrived, again} })
		if row.FailureClass != class || (class == "") != (row.Status == outcomes.StatusOK) || d.Facts["abandoned_calls"] != 1 {
			t.Errorf("again %v: %s %s: %s; %v", again, row.Status, row.FailureClass, row.Error, d.Facts)
		}
	}
}

// reporting says of the tools that it called whether they failed.
type reporting struct{ careless }

func (r reporting) Attempt(ctx context.Context, a agents.Attempt) (agents.Result, error) {
	result, err := r.careless.Attempt(ctx, a)
	result.Metadata = []byte(`{"turns":1}`)
	for id, failed := range map[string]bool{"a": true, "b": false, "c": true} {
		result.ToolErrors.Add(formats.ToolErrors{id: &failed})
	}
	result.ToolErrors.Add(formats.ToolErrors{"b": new(false), "c": new(false)}) // b again; of c another result: which one failed is not known
	result.ToolErrors.Add(formats.ToolErrors{"c": new(true)})
	return result, err
}

// TestRowsSayWhichToolsFailed: beside what the agent stored.
func TestRowsSayWhichToolsFailed(t *testing.T) {
	row, _ := verdict(t, &engine{}, 1, func(o *rollout.Options) { o.Agent = reporting{careless{1}} })
	if want := `{"turns":1,"rollmill_tool_errors":{"a":true,"b":false,"c":null}}`; row.Metadata != want {
		t.Errorf("metadata %s, want %s", row.Metadata, want)
	}
}
