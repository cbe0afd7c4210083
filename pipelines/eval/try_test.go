package eval

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/stages/rollout"
)

// TestHints checks that the classes with hints exist.
func TestHints(t *testing.T) {
	for class := range hints {
		if !slices.Contains(outcomes.FailureClasses, class) {
			t.Errorf("%q is no failure class", class)
		}
	}
}

type count int

func (n count) Len() int                            { return int(n) }
func (count) At(int) (formats.Example, error)       { return formats.Example{}, nil }
func (count) Find(string) (i int, ok bool, e error) { return 3, true, nil }

// TestExtrapolation computes an epoch of 10 examples with 8 attempts each from two
// attempts.
func TestExtrapolation(t *testing.T) {
	r := TryResult{calls: map[string]float64{}}
	for range 2 {
		r.add(&formats.Trajectory{PromptTokens: 100, CompletionTokens: 20, StartedAt: 1e6, FinishedAt: 5e6, Status: outcomes.StatusOK,
			Calls: []formats.Call{{PromptTokens: 100, CompletionTokens: 20, CachedTokens: 50}}}, prices.Table{"*": {Input: 2, Output: 10, Cached: 1}})
	}
	if c := r.Attempts[1].Cost; c == nil || *c != 0.00035 {
		t.Errorf("an attempt costs %v", c)
	}
	r.Cost.Money = new(0.0008)
	r.extrapolate(rollout.Options{Examples: count(10), Generations: 8, Concurrency: 4})
	e := r.Epoch
	if e.Trajectories != 80 || e.PromptTokens != 8000 || e.CompletionTokens != 1600 || e.Seconds != 80 || *e.Money != 0.032 {
		t.Errorf("an epoch costs %+v and %v", e, *e.Money)
	}
	r.extrapolate(rollout.Options{Examples: count(1)})
	if e := r.Epoch; e.Trajectories != 1 || e.Seconds != 4 {
		t.Errorf("one trajectory costs %+v", e)
	}
}

// TestFirstOf checks that a shorter list does not find what lies behind it.
func TestFirstOf(t *testing.T) {
	if f := (firstOf{count(10), 3}); f.Len() != 3 {
		t.Errorf("%d examples", f.Len())
	} else if _, ok, _ := f.Find("x"); ok {
		t.Error("it finds the fourth example")
	}
	if f := (firstOf{count(2), 3}); f.Len() != 2 {
		t.Errorf("%d examples", f.Len())
	}
}

// TestFailuresAreShown checks that each failure appears once, cut to its end.
func TestFailuresAreShown(t *testing.T) {
	long := strings.Repeat("line\n", 50) + "the cause"
	r := TryResult{Attempts: []Attempt{{FailureClass: outcomes.FailAgentExit, Error: long}, {FailureClass: outcomes.FailAgentExit, Error: long},
		{Status: "ok", Rewards: []model.Component{{Name: "x", Failure: "program", Error: "no"}}}}}
	var b strings.Builder
	if err := r.WriteText(&b, 24); err != nil {
		t.Fatal(err)
	}
	for text, n := range map[string]int{"failed in 2 attempts: agent_exit\n": 1, "the cause": 1, "    line\n": minLines - 1, "reward x: program": 1,
		"hint: ": 2} {
		if got := strings.Count(b.String(), text); got != n {
			t.Errorf("%q is shown %d times, want %d:\n%s", text, got, n, b.String())
		}
	}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "none of 3 attempts has a reward: agent_exit: the cause") {
		t.Errorf("error %v", err)
	}
}
