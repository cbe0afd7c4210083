package rollout_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/stages/rollout/watch"
	"github.com/rollmill/rollmill/storage/fault"
)

// spentRun runs until the budget is spent.
func spentRun(t *testing.T, o rollout.Options, says string) {
	t.Helper()
	_, err := rollout.Run(context.Background(), o)
	if kind(err) != fault.Budget || !strings.Contains(err.Error(), says) {
		t.Fatalf("%v, want budget: %s", err, says)
	}
}

// TestBudgets end the run cleanly; the same command with a larger one goes on,
// pays for nothing twice, and comes to the rows of a run without.
func TestBudgets(t *testing.T) {
	quiet := newEngine(t, &engine{})
	plain := run(t, options(quiet, filepath.Join(t.TempDir(), "out"), 6))
	one := quiet.Sampled()[0]
	tokens := int64(len(one.Prompt) + len(one.IDs)) // about, for each trajectory
	for name, c := range map[string]struct {
		small, large watch.Budget
		says         string
	}{
		"tokens": {watch.Budget{Tokens: 5 * tokens}, watch.Budget{Tokens: 1000 * tokens}, "tokens"},
		"money": {watch.Budget{Money: 5 * float64(tokens), PromptPrice: 1e6, CompletionPrice: 1e6},
			watch.Budget{Money: 1e9, PromptPrice: 1e6, CompletionPrice: 1e6}, "money"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, &engine{})
			o := options(e, filepath.Join(t.TempDir(), "out"), 6)
			o.Concurrency = 2
			o.Budget = c.small
			spentRun(t, o, c.says)
			first := len(e.Asked())
			if first < 4 || first > 9 {
				t.Errorf("%d calls for a budget of about 5", first)
			}
			if _, err := dataset.Open(context.Background(), o.Out.URI, dataset.OpenOptions{}); err == nil {
				t.Error("half a dataset is there")
			}
			spentRun(t, o, c.says)
			if len(e.Asked()) != first {
				t.Error("the second run spent more, although the first had spent the budget")
			}
			o.Budget = c.large
			if r := run(t, o); r.RowsDigest != plain.RowsDigest || len(e.Asked()) != 18 {
				t.Errorf("digest %s after %d calls, want %s after 18", r.RowsDigest, len(e.Asked()), plain.RowsDigest)
			}
		})
	}
}

// TestTimeBudget ends what is under way, too.
func TestTimeBudget(t *testing.T) {
	e := newEngine(t, &engine{Fault: func(n int, _ recordertest.Request) recordertest.Fault {
		if n == 4 {
			return recordertest.Fault{Kind: recordertest.Hang}
		}
		return recordertest.Fault{}
	}})
	o := options(e, filepath.Join(t.TempDir(), "out"), 6)
	o.Concurrency = 1
	o.Budget.Time = 700 * time.Millisecond
	spentRun(t, o, "700ms")
	o.Budget.Time = time.Hour
	run(t, o)
	if n := len(e.Asked()); n < 18 || n > 19 { // on a machine too slow to come to the one that hangs, 18 or one that was cut
		t.Errorf("%d calls of 18, and the one that hung", n)
	}
}

// TestSkipRest: what a budget left is skipped rows, and can be made later.
func TestSkipRest(t *testing.T) {
	e := newEngine(t, &engine{})
	plain := run(t, options(newEngine(t, &engine{}), filepath.Join(t.TempDir(), "out"), 6))
	o := options(e, filepath.Join(t.TempDir(), "out"), 6)
	o.Concurrency = 1
	o.Budget = watch.Budget{Tokens: 1, SkipRest: true}
	if r := run(t, o); r.Counts[outcomes.StatusSkipped] != 17 {
		t.Errorf("%+v", r)
	}
	list := rows(t, o.Out.URI)
	if len(list) != 18 || list[0].Status != outcomes.StatusOK {
		t.Fatalf("%d rows, the first %s", len(list), list[0].Status)
	}
	for i, row := range list[1:] {
		if row.Status != outcomes.StatusSkipped || row.StopReason != outcomes.StopBudget || len(row.Messages) != 0 || row.ExampleID != list[(i+1)/3*3].ExampleID {
			t.Fatalf("row %d: %+v", i+1, row)
		}
	}
	o.Budget = watch.Budget{}
	if r := run(t, o); !r.UpToDate {
		t.Error("the dataset with skipped rows was made again unasked")
	}
	o.RetryFailed = true
	if r := run(t, o); r.RowsDigest != plain.RowsDigest || len(e.Asked()) != 18 {
		t.Errorf("digest %s after %d calls, want %s after 18", r.RowsDigest, len(e.Asked()), plain.RowsDigest)
	}
}

// TestRetriesCostNothingTwice: rows that a retry keeps cost nothing, also after it
// was interrupted.
func TestRetriesCostNothingTwice(t *testing.T) {
	var stop atomic.Pointer[context.CancelFunc]
	e := newEngine(t, &engine{Fault: func(int, recordertest.Request) recordertest.Fault {
		if f := stop.Load(); f != nil {
			(*f)()
		}
		return recordertest.Fault{}
	}})
	o := options(e, filepath.Join(t.TempDir(), "out"), 6)
	o.Concurrency = 1
	plain := run(t, o)
	half := int64(plain.Facts["prompt_tokens"]+plain.Facts["completion_tokens"]) / 2
	o.Out.URI = filepath.Join(t.TempDir(), "out")
	o.Budget = watch.Budget{Tokens: half, SkipRest: true}
	r := run(t, o)
	if kept := r.Counts[outcomes.StatusOK]; kept < 8 || kept > 11 {
		t.Fatalf("%+v", r)
	}
	o.RetryFailed, o.Budget = true, watch.Budget{Tokens: half * 5 / 4}
	for range 2 {
		ctx, cancel := context.WithCancel(context.Background())
		stop.Store(&cancel)
		if _, err := rollout.Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		stop.Store(nil)
	}
	if r := run(t, o); r.RowsDigest != plain.RowsDigest {
		t.Errorf("digest %s, want %s", r.RowsDigest, plain.RowsDigest)
	}
}

// TestStoredRowsCostNothing: rows that a replay takes over are free, also when it
// is continued.
func TestStoredRowsCostNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	e := newEngine(t, &engine{})
	o := options(e, filepath.Join(t.TempDir(), "out"), 6)
	o.Concurrency, o.Agent, o.Budget.Tokens, o.JournalEvery = 1, &storedOnce{stop: cancel}, 3, time.Nanosecond
	if _, err := rollout.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if r := run(t, o); r.Counts[outcomes.StatusOK] != 18 {
		t.Errorf("%+v", r)
	}
}

// storedOnce is an agent whose rows were made before; the fifth stops the run.
type storedOnce struct {
	n    int
	stop context.CancelFunc
}

func (s *storedOnce) Describe() agents.Description {
	return agents.Description{Kind: "stored", Stored: s.stored}
}

func (*storedOnce) Close() error { return nil }

func (*storedOnce) Attempt(context.Context, agents.Attempt) (agents.Result, error) {
	panic("not called")
}

func (s *storedOnce) stored(context.Context, agents.Attempt) (formats.Trajectory, error) {
	if s.n++; s.n == 5 {
		s.stop()
	}
	return formats.Trajectory{Status: outcomes.StatusOK, PromptTokens: 1, CompletionTokens: 1}, nil
}
