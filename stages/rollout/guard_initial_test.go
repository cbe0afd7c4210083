package rollout_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
)

// does is an agent made of a function.
type does func(ctx context.Context, a agents.Attempt) (agents.Result, error)

func (does) Describe() agents.Description { return agents.Description{Kind: "does"} }

func (does) Close() error { return nil }

func (f does) Attempt(ctx context.Context, a agents.Attempt) (agents.Result, error) {
	return f(ctx, a)
}

// asks makes one call and returns the status.
func asks(ctx context.Context, a agents.Attempt) int {
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, a.Model, a.Example.Question)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.BaseURL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestAgentsThatFailAtOnceEndTheRun, whatever their class, and leave nothing
// behind that would have to be attempted again.
func TestAgentsThatFailAtOnceEndTheRun(t *testing.T) {
	for class, says := range map[string]string{
		outcomes.FailAgentExit: "No module named", outcomes.FailAgentOutput: "not JSON", outcomes.FailExample: "no field",
		outcomes.FailNoCalls: "without an answer",
	} {
		var mended atomic.Bool
		var attempts atomic.Int32
		e := newEngine(t, &engine{})
		o := options(e, filepath.Join(t.TempDir(), "out"), 50)
		o.Agent = does(func(ctx context.Context, a agents.Attempt) (agents.Result, error) {
			attempts.Add(1)
			switch {
			case mended.Load():
				asks(ctx, a)
			case class != outcomes.FailNoCalls:
				return agents.Result{}, &agents.Failure{Class: class, Err: errors.New(says)}
			}
			return agents.Result{}, nil
		})
		_, err := rollout.Run(t.Context(), o)
		if kind(err) != fault.Failed || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "8 "+class) || fault.HintOf(err) == "" ||
			fault.HintOf(err) == "" {
			t.Errorf("%s: %v", class, err)
		}
		if n := attempts.Load(); n > 8+4 {
			t.Errorf("%s: %d attempts before the run ended", class, n)
		}
		mended.Store(true)
		if report := run(t, o); report.Counts[outcomes.StatusOK] != 150 {
			t.Errorf("%s: after the agent was mended: %+v", class, report)
		}
	}
}

// TestEqualFailuresAreLoggedOnce, and counted.
func TestEqualFailuresAreLoggedOnce(t *testing.T) {
	e := newEngine(t, &engine{})
	o := options(e, filepath.Join(t.TempDir(), "out"), 50)
	rate := 1.0
	o.MaxInitialFailures, o.MaxFailureRate = -1, &rate
	var attempts atomic.Int32
	o.Agent = does(func(context.Context, agents.Attempt) (agents.Result, error) {
		return agents.Result{}, &agents.Failure{Class: outcomes.FailAgentExit, Err: fmt.Errorf("port %d is taken", 40000+attempts.Add(1))}
	})
	var log bytes.Buffer
	o.Env.Log = slog.New(slog.NewTextHandler(&log, nil))
	run(t, o)
	if n := strings.Count(log.String(), "level=WARN"); n != 4 || !strings.Contains(log.String(), "150 trajectories failed for the same reason") {
		t.Errorf("%d warnings of 150 failures:\n%s", n, log.String())
	}
	if !strings.Contains(log.String(), "150 attempts to make: 50 examples, 3 generations each") {
		t.Errorf("it does not say how much it is about to do:\n%s", log.String())
	}
}

// TestTrajectoryOverLimitIsTruncated, with what it has recorded.
func TestTrajectoryOverLimitIsTruncated(t *testing.T) {
	for stop, limit := range map[string]func(*rollout.Options){
		outcomes.StopMaxCalls:  func(o *rollout.Options) { o.MaxCalls = 2 },
		outcomes.StopMaxTokens: func(o *rollout.Options) { o.MaxTokens = 1 },
	} {
		e := newEngine(t, &engine{})
		o := options(e, filepath.Join(t.TempDir(), "out"), 2)
		limit(&o)
		o.Agent = does(func(ctx context.Context, a agents.Attempt) (agents.Result, error) {
			for ctx.Err() == nil { // an agent that never has enough
				asks(ctx, a)
			}
			return agents.Result{}, context.Cause(ctx)
		})
		run(t, o)
		for _, row := range rows(t, o.Out.URI) {
			if row.Status != outcomes.StatusTruncated || row.StopReason != stop || len(row.Calls) != max(1, o.MaxCalls) || row.SampledTokens == 0 {
				t.Errorf("%s: %s %s (%s), %d calls, %d tokens", stop, row.Status, row.StopReason, row.Error, len(row.Calls), row.SampledTokens)
			}
		}
		if n := len(e.Asked()); n != 6*max(1, o.MaxCalls) {
			t.Errorf("%s: the engine was asked %d times", stop, n)
		}
		enough := options(e, filepath.Join(t.TempDir(), "out"), 2)
		enough.MaxCalls, enough.MaxTokens = 1, 1<<40
		if report := run(t, enough); report.Counts[outcomes.StatusOK] != 6 {
			t.Errorf("%s: an agent that asks once: %+v", stop, report)
		}
	}
}

// made is a Stored agent made of a function.
type made func(a agents.Attempt) (formats.Trajectory, error)

func (f made) Describe() agents.Description {
	return agents.Description{Kind: "made", Stored: f.stored}
}

func (made) Close() error { return nil }
func (made) Attempt(context.Context, agents.Attempt) (agents.Result, error) {
	return agents.Result{}, errors.ErrUnsupported
}
func (f made) stored(_ context.Context, a agents.Attempt) (formats.Trajectory, error) { return f(a) }

// TestOversizedTrajectoryFails by name and size; the others are kept,
// and nothing is attempted again.
func TestOversizedTrajectoryFails(t *testing.T) {
	e := newEngine(t, &engine{})
	o := options(e, filepath.Join(t.TempDir(), "out"), 3)
	o.Generations, o.Concurrency = 1, 1
	screenshot := strings.Repeat("x", 5<<19)
	var attempts atomic.Int32
	o.Agent = made(func(a agents.Attempt) (formats.Trajectory, error) {
		attempts.Add(1)
		t := formats.Trajectory{Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Model: "policy", PromptTokens: 7,
			Calls: []formats.Call{{Model: "policy", Target: true, Tools: -1, PromptTokens: 7}}}
		if a.Example.ID == "ex-1" {
			for i := range 52 {
				t.Messages = append(t.Messages, formats.Message{Parent: int32(i - 1), Role: "tool", Call: -1, ContentParts: screenshot})
			}
		}
		t.Messages = append(t.Messages, formats.Message{Parent: int32(len(t.Messages) - 1), Role: "assistant", Sampled: true, Content: "fine"})
		return t, nil
	})
	report := run(t, o)
	if report.Counts[outcomes.StatusOK] != 2 || report.Failures[outcomes.FailTooLarge] != 1 || attempts.Load() != 3 {
		t.Errorf("%d attempts: %+v", attempts.Load(), report)
	}
	row := rows(t, o.Out.URI)[1]
	for _, says := range []string{"messages.content_parts", "136314880 bytes", "at most 134217728"} {
		if row.FailureClass != outcomes.FailTooLarge || !strings.Contains(row.Error, says) {
			t.Errorf("%s: %s, want %s", row.FailureClass, row.Error, says)
		}
	}
	if row.PromptTokens != 7 || len(row.Calls) != 1 {
		t.Errorf("what it cost is lost: %+v", row.Calls)
	}
	for _, problem := range validate.Trajectory(&row) {
		t.Error(problem)
	}
}

// TestDamagedStoreIsNotAFailedAttempt: the run ends with the input's error, and
// no row says that an attempt failed.
func TestDamagedStoreIsNotAFailedAttempt(t *testing.T) {
	e := newEngine(t, &engine{})
	o := options(e, filepath.Join(t.TempDir(), "out"), 9)
	o.Agent = made(func(agents.Attempt) (formats.Trajectory, error) {
		return formats.Trajectory{}, fmt.Errorf("reading: %w", fault.Invalid("runs/earlier", "", nil, "damaged"))
	})
	if _, err := rollout.Run(t.Context(), o); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// TestExhaustedMachineIsNotAFailedAttempt: without file descriptors or
// processes the run ends as one that may go on later, and goes on where it was.
func TestExhaustedMachineIsNotAFailedAttempt(t *testing.T) {
	e := newEngine(t, &engine{})
	o := options(e, filepath.Join(t.TempDir(), "out"), 9)
	var attempts, full atomic.Int32
	full.Store(1)
	o.Agent = does(func(ctx context.Context, a agents.Attempt) (agents.Result, error) {
		if n := attempts.Add(1); n > 5 && full.Load() == 1 {
			return agents.Result{}, fmt.Errorf("starting agent: %w", syscall.EMFILE)
		}
		asks(ctx, a)
		return agents.Result{}, nil
	})
	if _, err := rollout.Run(t.Context(), o); kind(err) != fault.Temporary || !strings.Contains(err.Error(), "too many open files") {
		t.Errorf("%v", err)
	}
	full.Store(0)
	if report := run(t, o); report.Counts[outcomes.StatusOK] != 27 {
		t.Errorf("%+v", report)
	}
}

// TestAnEmptyTaskFileIsRefused, as input that is wrong.
func TestAnEmptyTaskFileIsRefused(t *testing.T) {
	e := newEngine(t, &engine{})
	if _, err := rollout.Run(t.Context(), options(e, filepath.Join(t.TempDir(), "out"), 0)); !errors.Is(err, fault.ErrInvalid) ||
		!strings.Contains(err.Error(), "examples.jsonl") {
		t.Errorf("%v", err)
	}
}
