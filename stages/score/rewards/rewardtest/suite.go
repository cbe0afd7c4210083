package rewardtest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/score"
)

// Suite is the input of the tests.
type Suite struct {
	Kind      score.RewardKind
	Arguments string
	Known     []string // rewards that rows bring along; Rows gives them values
	Judging   score.Judging
	Open      func(context.Context, string) (score.File, error)
	Bad       string // an answer that the reward fails on or dies of; "" for none
}

// New makes a reward as the stage would.
func New(t testing.TB, kind score.RewardKind, arguments string, known ...string) score.Reward {
	t.Helper()
	return Suite{Kind: kind, Arguments: arguments, Known: known}.reward(t)
}

func (s Suite) reward(t testing.TB) score.Reward {
	t.Helper()
	r, err := s.Kind.Make(s.Arguments, score.Setup{
		Name: "tried", Known: s.Known, Judging: s.Judging, Open: s.Open, Timeout: 20 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatalf("%s:%s: %v", s.Kind.Name, s.Arguments, err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// Score returns the values of rows.
func Score(t testing.TB, r score.Reward, rows []*score.Row) []score.Value {
	t.Helper()
	values := make([]score.Value, len(rows))
	if err := r.Score(t.Context(), rows, values); err != nil {
		t.Fatal(err)
	}
	return values
}
