package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/fault"
)

// stopsAfter runs o until n trajectories are finished.
func stopsAfter(t *testing.T, o rollout.Options, n int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var ended atomic.Int64
	o.Finished = func(formats.Trajectory) {
		if ended.Add(1) == n {
			cancel()
		}
	}
	if _, err := rollout.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// mostFail returns options of ten attempts at each of three examples, of which only those at the first do not fail.
func mostFail(t *testing.T) rollout.Options {
	o := options(newEngine(t, &engine{}), filepath.Join(t.TempDir(), "out"), 3)
	o.Generations, o.MaxFailureRate, o.Concurrency, o.JournalEvery = 10, new(1.0), 2, time.Millisecond
	o.Agent = does(func(ctx context.Context, a agents.Attempt) (agents.Result, error) {
		asks(ctx, a)
		if a.Example.ID != "ex-0" {
			return agents.Result{}, &agents.Failure{Class: outcomes.FailAgentExit, Err: errors.New("exit status 1")}
		}
		return agents.Result{}, nil
	})
	return o
}

// TestGuardOfAResumedRun: what was kept shows that agent and engine work, so the same command finishes, and a retry of
// what is left as well.
func TestGuardOfAResumedRun(t *testing.T) {
	o := mostFail(t)
	stopsAfter(t, o, 10)
	report := run(t, o)
	if report.Counts[outcomes.StatusOK] != 10 || report.Counts[outcomes.StatusFailed] != 20 {
		t.Errorf("%+v", report)
	}
	o.RetryFailed = true
	if report := run(t, o); report.Counts[outcomes.StatusFailed] != 20 {
		t.Errorf("retried: %+v", report)
	}
}

// TestGuardOfAShard: rows of another shard, finished or not, show that agent and engine work, so an array ends as one
// process does. Without such rows a shard whose attempts all fail ends.
func TestGuardOfAShard(t *testing.T) {
	o := mostFail(t)
	shard := func(i int) rollout.Options {
		o := o
		o.Out.Shard = stages.Shard{Index: i, Count: 3}
		return o
	}
	if _, err := rollout.Run(t.Context(), shard(1)); kind(err) != fault.Failed || !strings.Contains(err.Error(), "first 8") {
		t.Fatal(err)
	}
	stopsAfter(t, shard(0), 2)
	if _, err := rollout.Run(t.Context(), shard(1)); err != nil {
		t.Fatalf("beside rows under way: %v", err)
	}
	run(t, shard(0))
	report := run(t, shard(2))
	if report.Counts[outcomes.StatusOK] != 10 || report.Counts[outcomes.StatusFailed] != 20 {
		t.Errorf("%+v", report)
	}
}

// TestRetriesAreMadeOnce, however often the retry is stopped.
func TestRetriesAreMadeOnce(t *testing.T) {
	for _, sealed := range []bool{true, false} {
		var asked, failures atomic.Int64
		o := options(newEngine(t, &engine{}), filepath.Join(t.TempDir(), "out"), 4)
		o.MaxFailureRate, o.MaxInitialFailures, o.Concurrency, o.JournalEvery = new(1.0), -1, 1, time.Millisecond
		o.Agent = does(func(ctx context.Context, a agents.Attempt) (agents.Result, error) {
			asked.Add(1)
			asks(ctx, a)
			if a.Example.ID == "ex-3" {
				return agents.Result{}, nil
			}
			failures.Add(1)
			return agents.Result{}, &agents.Failure{Class: outcomes.FailAgentExit, Err: errors.New("exit status 1")}
		})
		if sealed {
			run(t, o)
		} else {
			stopsAfter(t, o, 9)
		}
		o.RetryFailed = true
		before := asked.Load()
		stopsAfter(t, o, 5)
		stopsAfter(t, o, 3)
		run(t, o)
		want := int64(9)
		if !sealed {
			want += 3 // that were not made before
		}
		if n := asked.Load() - before; n != want+failures.Load()-18 || n > want+2 { // one under way, at each stop
			t.Errorf("sealed %t: %d attempts, want %d", sealed, n, want)
		}
		for _, row := range rows(t, o.Out.URI) { // of an unfinished dataset the first failure stays
			if want := int32(1 + b2i(row.Status == outcomes.StatusFailed)); sealed && row.Attempts != want {
				t.Errorf("sealed %t: %s of %s has %d attempts, want %d", sealed, row.Status, row.ExampleID, row.Attempts, want)
			}
		}
	}
}

// TestFactsOfEveryProcess: the manifest counts what each process replayed, and a budget what each one paid for, also the
// answers that an attempt did not ask for again.
func TestFactsOfEveryProcess(t *testing.T) {
	var stop atomic.Int64 // number of the call at which the process is stopped
	var cancel context.CancelFunc
	e := newEngine(t, &engine{Fault: func(n int, _ recordertest.Request) recordertest.Fault {
		if int64(n) != stop.Load() {
			return recordertest.Fault{}
		}
		cancel()
		return recordertest.Fault{Kind: recordertest.Hang}
	}})
	o := optionsAt(e.URL(), filepath.Join(t.TempDir(), "out"), 2)
	o.Generations, o.Concurrency, o.Agent, o.JournalEvery = 1, 1, talker{turns: 6, clock: true}, time.Millisecond
	for _, at := range []int64{4, 12} { // in the first attempt, and then in the second
		ctx, end := context.WithCancel(t.Context())
		defer end()
		cancel = end
		stop.Store(at)
		if _, err := rollout.Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	stop.Store(-1)
	paid := 0
	for _, s := range e.Sampled() {
		paid += len(s.Prompt) + len(s.IDs)
	}
	small := o
	small.Budget.Tokens = 1
	_, err := rollout.Run(t.Context(), small)
	var spent int
	if _, scan := fmt.Sscanf(text(err)[max(0, strings.Index(text(err), "(")):], "(%d of 1 tokens)", &spent); kind(err) != fault.Budget || scan != nil {
		t.Fatal(err)
	}
	if spent != paid {
		t.Errorf("the budget counts %d tokens of %d", spent, paid)
	}
	report := run(t, o)
	if report.Facts["diverged_prompt"] != 2 || report.Facts["replayed_calls"] != 4 {
		t.Errorf("%v", report.Facts)
	}
	for _, row := range rows(t, o.Out.URI) {
		if row.Diverged != "prompt" || !row.Calls[0].Replayed || !row.Calls[1].Replayed || row.Calls[2].Replayed || row.Calls[0].Repeated {
			t.Errorf("%s: %+v", row.Diverged, row.Calls[:3])
		}
	}
}

func text(err error) string { return fmt.Sprint(err) }
