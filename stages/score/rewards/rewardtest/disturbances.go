package rewardtest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rollmill/rollmill/stages/score"
)

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
