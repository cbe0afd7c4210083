package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

func alone(context.Context) bool { return false }

func failing(class string) formats.Trajectory {
	return formats.Trajectory{Status: outcomes.StatusFailed, FailureClass: class, Error: "why"}
}

// TestBudget: what is spent, and what of it is left for a dataset that is extended.
func TestBudget(t *testing.T) {
	s := Spending{Budget: Budget{Tokens: 100, Money: 3, PromptPrice: 1e6, CompletionPrice: 2e6}.Of("m")}
	if s.Call(formats.Call{PromptTokens: 1}); s.Over() != "" {
		t.Errorf("of 3: %q", s.Over())
	}
	if s.Call(formats.Call{CompletionTokens: 1}); s.Over() != "3 of 3 in money" {
		t.Errorf("all of 3: %q", s.Over())
	}
	s.Left = 2
	if skip, err := s.Stopped(5, slog.New(slog.DiscardHandler)); skip || fault.KindOf(err) != fault.Budget || !strings.Contains(err.Error(), "3 of 5 trajectories kept, 2 not made") {
		t.Errorf("%v, %v", skip, err)
	}
	facts := map[string]float64{"prompt_tokens": 150, "completion_tokens": 20}
	if left, ok := (Budget{Tokens: 100}).Left(2, facts); !ok || left.Tokens != 30 || !left.SkipRest {
		t.Errorf("%+v, %v", left, ok)
	}
	if _, ok := (Budget{Tokens: 85}).Left(2, facts); ok {
		t.Error("170 of 170 tokens are spent, and something is left")
	}
}

// TestBudgetByModel: each call is charged the price of its own model, cached tokens theirs, and one without a price ends the run.
func TestBudgetByModel(t *testing.T) {
	b := Budget{Money: 3, Prices: prices.Table{"p*": {Input: 1e6, Output: 2e6, Cached: 1e5}, "free": {}}}.Of("p")
	s := Spending{Budget: b}
	calls := []formats.Call{{Model: "p@1", PromptTokens: 11, CompletionTokens: 1, CachedTokens: 10}, {Model: "free", PromptTokens: 1e6}, {Model: "none"}}
	if s.Add(1, calls...); s.Over() != "4 of 3 in money" || s.Spent().Cost != 4 || s.Spent().PromptTokens != 1000011 {
		t.Errorf("%q, %+v", s.Over(), s.Spent())
	}
	if s.Add(-1, calls...); s.Over() != "" || s.Spent() != (stages.Spend{}) {
		t.Errorf("taken back: %q, %+v", s.Over(), s.Spent())
	}
	s.Left, s.Budget.SkipRest = 2, true
	s.Call(formats.Call{Model: "none", CompletionTokens: 1})
	if skip, err := s.Stopped(5, slog.New(slog.DiscardHandler)); skip || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), `no price of "none"`) {
		t.Errorf("without a price: %t, %v", skip, err)
	}
	if b := (Budget{Tokens: 1, Prices: b.Prices}).Of("none"); b.Check() != nil {
		t.Error("tokens need no price")
	} else if b.Money = 1; b.Check() == nil {
		t.Error("a budget of money without a price of the model passes")
	}
	facts := map[string]float64{"prompt_tokens": 24, "completion_tokens": 2} // 22 and 1 are of calls; the others are estimates, of p
	for _, c := range calls {
		prices.Call(facts, c.Model, min(11, int64(c.PromptTokens)), int64(c.CompletionTokens), int64(c.CachedTokens))
	}
	b.Money = 5
	if left, ok := b.Left(3, facts); !ok || left.Money != 15-4-2-2 {
		t.Errorf("left: %+v, %t", left.Money, ok)
	}
	if _, ok := b.Left(1, facts); ok {
		t.Error("8 of 5 are spent, and something is left")
	}
}

func TestTimeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Spending{Budget: Budget{Time: time.Minute}}
		ctx, cancel := s.Limit(t.Context())
		defer cancel()
		if <-ctx.Done(); context.Cause(ctx) != ErrTimeSpent {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
		if synctest.Wait(); s.Over() != "1m0s" {
			t.Errorf("over: %q", s.Over())
		}
	})
}

// TestFirstFailures: as many failures as may be first end the run and are not kept, unless one attempt did not fail
// before, or other shards show that engine and agent work.
func TestFirstFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		ends   string // o: ok, f: failed
		others bool
		kept   int
		fails  bool
	}{{"all", "fff", false, 0, true}, {"the third is ok", "ffoff", false, 5, false}, {"others work", "fff", true, 3, false}} {
		g := Guard{Initial: 3, Engine: 8, Clock: time.Now, OthersWork: func(context.Context) bool { return c.others }}
		var kept int
		var failed error
		for _, end := range c.ends {
			row := failing(outcomes.FailAgentExit)
			if end == 'o' {
				row = formats.Trajectory{Status: outcomes.StatusOK}
			}
			rows, err := g.Ended(t.Context(), row)
			kept, failed = kept+len(rows), errors.Join(failed, err)
		}
		if kept != c.kept || (failed != nil) != c.fails || c.fails && !strings.Contains(failed.Error(), "all of the first 3 trajectories failed (3 agent_exit): why") {
			t.Errorf("%s: %d kept, %v", c.name, kept, failed)
		}
	}
}

// TestLostEngine: after so many failed calls in a row the endpoints are asked. What failed while a model was silent is kept
// if one answers, and not if the engine is lost.
func TestLostEngine(t *testing.T) {
	for _, lost := range []bool{true, false} {
		asked := 0
		g := Guard{Initial: -1, Engine: 2, Clock: func() time.Time { return time.Unix(100, 0) }, OthersWork: alone,
			Lost: func(context.Context, string, string) *fault.Error {
				if asked++; lost {
					return fault.Errorf(fault.Temporary, "", "no engine")
				}
				return nil
			}}
		for failed := range 2 {
			g.Called(t.Context(), "m", "/chat/completions", time.Unix(99, 0), &completion.Failure{Class: outcomes.FailEngine})
			if g.Wait(); asked != failed {
				t.Errorf("lost %v: asked %d times after %d failed calls", lost, asked, failed+1)
			}
		}
		row := failing(outcomes.FailEngine)
		row.Calls = []formats.Call{{Model: "m", Error: "HTTP 503"}}
		rows, err := g.Ended(t.Context(), row)
		g.Wait()
		if asked != 1 || err != nil || (g.Over() != nil) != lost {
			t.Errorf("lost %v: asked %d times, %v, over %v", lost, asked, err, g.Over())
		}
		more, err := g.End(t.Context(), false)
		if kept := len(rows) + len(more); kept != map[bool]int{true: 0, false: 1}[lost] || (err != nil) != lost {
			t.Errorf("lost %v: %d kept, %v", lost, kept, err)
		}
	}
}

// TestWarnings: failures that differ in numbers are logged once, and then by their count.
func TestWarnings(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var w Warnings
	for i := range 12 {
		row := failing(outcomes.FailEngine)
		row.TrajectoryID, row.Error = fmt.Sprint("t", i), fmt.Sprintf("t%d: port %d is closed", i, 8000+i)
		w.Failed(log, &row)
	}
	w.End(log)
	if text := out.String(); strings.Count(text, "a trajectory failed") != 1 || !strings.Contains(text, "10 trajectories failed") || !strings.Contains(text, "12 trajectories failed") {
		t.Error(text)
	}
}
