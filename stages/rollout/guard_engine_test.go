package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/fault"
)

// lostAfter is an engine that fails from its call after on, until it is mended.
func lostAfter(t *testing.T, after int, fault recordertest.Fault) (e *engine, mended *atomic.Bool) {
	mended = &atomic.Bool{}
	return newEngine(t, &engine{Fault: func(n int, _ recordertest.Request) recordertest.Fault {
		if n < after || mended.Load() {
			return recordertest.Fault{}
		}
		return fault
	}}), mended
}

// TestLostEngineStopsTheRun: what was answered is kept, the error says what to mend, and the same
// command makes the rest, so that the rows are those of a run that nothing disturbed.
func TestLostEngineStopsTheRun(t *testing.T) {
	whole := options(newEngine(t, &engine{}), filepath.Join(t.TempDir(), "out"), 16)
	want := run(t, whole).RowsDigest
	for name, c := range map[string]struct {
		fault recordertest.Fault
		kind  fault.Kind
		hint  string
	}{
		"quota":   {recordertest.Fault{Status: 429, Body: `{"error":{"message":"You exceeded","code":"insufficient_quota"}}`}, fault.Budget, "pay the bill"},
		"unpaid":  {recordertest.Fault{Status: 402}, fault.Budget, "pay the bill"},
		"key":     {recordertest.Fault{Status: 401}, fault.Budget, "OPENAI_API_KEY"},
		"access":  {recordertest.Fault{Status: 403}, fault.Budget, "OPENAI_API_KEY"},
		"model":   {recordertest.Fault{Status: 404}, fault.Budget, "the model's name"},
		"busy":    {recordertest.Fault{Status: 429}, fault.Temporary, "same command again"},
		"broken":  {recordertest.Fault{Status: 500}, fault.Temporary, "same command again"},
		"garbage": {recordertest.Fault{Kind: recordertest.HalfBody}, fault.Temporary, "same command again"},
	} {
		for _, left := range []int{30, 3} { // more than the guard needs, and fewer
			e, mended := lostAfter(t, 48-left, c.fault)
			o := options(e, filepath.Join(t.TempDir(), "out"), 16)
			o.Retries = new(1)
			_, err := rollout.Run(t.Context(), o)
			if kind(err) != c.kind || fault.HintOf(err) == "" || !strings.Contains(fault.HintOf(err), c.hint) || !strings.Contains(err.Error(), e.URL()) ||
				!strings.Contains(err.Error(), `model "policy"`) ||
				!strings.Contains(err.Error(), fmt.Sprintf("%d of 48 trajectories kept, %d not made", 48-left, left)) {
				t.Errorf("%s: %v", name, err)
			}
			if asked := len(e.Asked()); c.kind == fault.Budget && asked > 48+2 {
				t.Errorf("%s: asked %d times, so what a person has to mend was asked again", name, asked)
			}
			mended.Store(true)
			before := len(e.Asked())
			if report := run(t, o); report.RowsDigest != want || len(e.Asked()) != before+left {
				t.Errorf("%s: afterwards %d were asked for of %d left; rows %s, want %s", name, len(e.Asked())-before, left, report.RowsDigest, want)
			}
		}
	}
}

// TestClosedEngineStopsTheRun: nobody listens any more, and an agent whose client hangs up first does not hide it.
func TestClosedEngineStopsTheRun(t *testing.T) {
	for _, impatient := range []bool{false, true} {
		var e *engine
		var closed atomic.Bool
		e = newEngine(t, &engine{})
		o := options(e, filepath.Join(t.TempDir(), "out"), 16)
		o.Retries, o.MaxEngineFailures = new(1), 4
		if impatient {
			o.Retries, o.Backoff = new(6), 20*time.Millisecond
		}
		o.Agent = does(func(ctx context.Context, a agents.Attempt) (agents.Result, error) {
			if a.Example.ID == "ex-13" && closed.CompareAndSwap(false, true) {
				e.Close()
			}
			if impatient && closed.Load() {
				var cancel func()
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			if asks(ctx, a) != http.StatusOK {
				return agents.Result{}, &agents.Failure{Class: outcomes.FailAgentExit, Err: errors.New("exit status 1")}
			}
			return agents.Result{}, nil
		})
		_, err := rollout.Run(t.Context(), o)
		if kind(err) != fault.Temporary || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), " 0 of 48") {
			t.Errorf("impatient %t: %v", impatient, err)
		}
	}
}

// TestOneOfTwoEnginesLost: the other one answers every call.
func TestOneOfTwoEnginesLost(t *testing.T) {
	good := newEngine(t, &engine{})
	lost, _ := lostAfter(t, 5, recordertest.Fault{Status: 401})
	o := options(lost, filepath.Join(t.TempDir(), "out"), 16)
	o.Endpoints = append(o.Endpoints, good.URL())
	if report := run(t, o); report.Counts[outcomes.StatusOK] != 48 {
		t.Errorf("%+v", report)
	}
}

// TestRefusedPromptsDoNotStopTheRun: single prompts, and failures of agents, stop nothing, however many come in a row.
func TestRefusedPromptsDoNotStopTheRun(t *testing.T) {
	for _, fault := range []recordertest.Fault{{Status: 400}, {Status: 403}, {Status: 500}, {Status: 403, Body: `{"error":{"code":"content_filter"}}`}, {}} {
		e := newEngine(t, &engine{Fault: func(_ int, q recordertest.Request) recordertest.Fault {
			if fault.Status > 0 && strings.Contains(fmt.Sprint(q.Messages), "what is 1") {
				return fault
			}
			return recordertest.Fault{}
		}})
		o := options(e, filepath.Join(t.TempDir(), "out"), 20)
		o.Retries, o.MaxFailureRate, o.MaxEngineFailures, o.Concurrency = new(0), new(1.0), 3, 1
		if fault.Status == 0 {
			o.Agent = does(func(ctx context.Context, a agents.Attempt) (agents.Result, error) {
				asks(ctx, a)
				if strings.Contains(a.Example.Question, "what is 1") {
					return agents.Result{}, &agents.Failure{Class: outcomes.FailAgentExit, Err: errors.New("exit status 1")}
				}
				return agents.Result{}, nil
			})
		}
		if report := run(t, o); report.Counts[outcomes.StatusFailed] != 33 || report.Counts[outcomes.StatusOK] != 27 {
			t.Errorf("%+v: %+v", fault, report)
		}
	}
}
