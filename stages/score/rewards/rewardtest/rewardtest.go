// Package rewardtest tests what every reward must guarantee. A new reward's
// test passes its Kind to Run.
package rewardtest

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
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

// Run runs the tests.
func Run(t *testing.T, s Suite) {
	t.Run("settings are declared well", func(t *testing.T) {
		plugintest.Settings(t, func() plugin.Settings { return s.Kind.New() })
	})
	t.Run("values are finite or named failures", s.values)
	t.Run("batch boundaries do not matter", s.boundaries)
	t.Run("the same rows give the same values", s.determinism)
	t.Run("only declared columns are read", s.columns)
	t.Run("a bad row does not cost its neighbours", s.neighbours)
	t.Run("it ends when cancelled", s.cancellation)
	t.Run("it can be closed and made again", s.restart)
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

func (s Suite) values(t *testing.T) {
	rows := append(Rows(s.Known...), Empty(s.Known...)...)
	for i, v := range Score(t, s.reward(t), rows) {
		switch {
		case v.Failure != "" && !slices.Contains(outcomes.RewardFailures, v.Failure):
			t.Errorf("row %d: %q is not of the closed list", i, v.Failure)
		case v.Failure != "" && v.Error == "":
			t.Errorf("row %d: failure %s does not say why", i, v.Failure)
		case v.Failure == "" && (math.IsNaN(v.Reward) || math.IsInf(v.Reward, 0)):
			t.Errorf("row %d: the value is %v", i, v.Reward)
		}
	}
}

func (s Suite) boundaries(t *testing.T) {
	rows := Rows(s.Known...)
	want := Score(t, s.reward(t), rows)
	for _, size := range []int{1, 3, len(rows) - 1} {
		r := s.reward(t)
		var got []score.Value
		for batch := range batches(r, Rows(s.Known...), size) {
			got = append(got, Score(t, r, batch)...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in batches of %d (-all at once +in batches):\n%s", size, diff)
		}
	}
}

// batches cuts rows; groups stay whole for a reward that compares their members.
func batches(r score.Reward, rows []*score.Row, size int) iter.Seq[[]*score.Row] {
	if r.Describe().Relative {
		size = (size + groupSize - 1) / groupSize * groupSize
	}
	return slices.Chunk(rows, size)
}

func (s Suite) determinism(t *testing.T) {
	want := Score(t, s.reward(t), Rows(s.Known...))
	r := s.reward(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			rows := Rows(s.Known...)
			slices.Reverse(rows)
			got := make([]score.Value, len(rows))
			if err := r.Score(t.Context(), rows, got); err != nil {
				t.Error(err)
			}
			slices.Reverse(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("four at once, in reverse order:\n%s", diff)
			}
		})
	}
	wait.Wait()
}

func (s Suite) columns(t *testing.T) {
	r := s.reward(t)
	d, want := r.Describe(), Score(t, r, Rows(s.Known...))
	less := Rows(s.Known...)
	for _, row := range less {
		if d.Columns != nil {
			dropColumns(row.Trajectory, d.Columns)
		}
		if d.Needs < score.Tokens {
			dropTokens(row.Trajectory)
		}
		if d.Needs < score.Head {
			row.Example = ""
		}
		if d.Needs < score.Text {
			row.Messages, row.Calls, row.ToolSets = nil, nil, nil
		}
	}
	if diff := cmp.Diff(want, Score(t, r, less)); diff != "" {
		t.Errorf("it reads columns that it does not declare (-all +declared):\n%s", diff)
	}
}

func dropTokens(t *formats.Trajectory) {
	for i := range t.Messages {
		m := &t.Messages[i]
		m.TokenIDs, m.Logprobs, m.PromptDeltaIDs, m.PrefixBreak = nil, nil, nil, ""
	}
}

func (s Suite) neighbours(t *testing.T) {
	want := Score(t, s.reward(t), Rows(s.Known...))
	rows := Rows(s.Known...)
	for i, bad := range Broken(s.Bad, s.Known...) {
		rows = slices.Insert(rows, 2*i+1, bad)
	}
	values := Score(t, s.reward(t), rows)
	var got []score.Value
	for i, row := range rows {
		if row.ExampleID != brokenExample {
			got = append(got, values[i])
		}
		if s.Bad != "" && row.Answer == s.Bad && values[i].Failure == "" {
			t.Errorf("row %d: the bad answer has a value, %v", i, values[i].Reward)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bad rows among them changed the others (-without +with):\n%s", diff)
	}
}

func (s Suite) cancellation(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r := s.reward(t)
	want := Score(t, r, Rows(s.Known...))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rows := Rows(s.Known...)
	if err := r.Score(ctx, rows, make([]score.Value, len(rows))); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled batch ended with %v", err)
	}
	for range 2 { // and while it is at it, which it may be done with before
		ctx, cancel := context.WithCancel(t.Context())
		rows := Rows(s.Known...)
		go cancel()
		if err := r.Score(ctx, rows, make([]score.Value, len(rows))); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("a batch that was cancelled under way ended with %v", err)
		}
		cancel()
	}
	if diff := cmp.Diff(want, Score(t, r, Rows(s.Known...))); diff != "" {
		t.Errorf("after cancelled batches it gives other values:\n%s", diff)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

func (s Suite) restart(t *testing.T) {
	first := s.reward(t)
	want := Score(t, first, Rows(s.Known...))
	for range 2 {
		if err := first.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
	if diff := cmp.Diff(want, Score(t, s.reward(t), Rows(s.Known...))); diff != "" {
		t.Errorf("made again, it gives other values:\n%s", diff)
	}
}

// mayLack are the columns of Light that a reward may leave unread.
var mayLack = []string{"run", "answer", "stop_reason", "failure_class", "model", "policy_version", "metadata",
	"prompt_tokens", "completion_tokens", "sampled_tokens"}

// dropColumns empties those that a reward does not read.
func dropColumns(t *formats.Trajectory, read []string) {
	for _, f := range schema.FieldsOf(reflect.TypeFor[formats.Trajectory]()) {
		if slices.Contains(mayLack, f.Name) && !slices.Contains(read, f.Name) {
			f.In(reflect.ValueOf(t).Elem()).SetZero()
		}
	}
}
