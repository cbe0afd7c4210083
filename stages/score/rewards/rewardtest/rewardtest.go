// Package rewardtest tests what every reward must guarantee. A new reward's
// test passes its Kind to Run.
package rewardtest

import (
	"iter"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
	"github.com/rollmill/rollmill/stages/score"
)

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

func (s Suite) values(t *testing.T) {
	rows := append(Rows(s.Known...), Empty(s.Known...)...)
	r := s.reward(t)
	parts := r.Describe().Parts
	for i, v := range Score(t, r, rows) {
		if n := len(v.Parts); n != len(parts) && (n > 0 || v.Failure == "") {
			t.Errorf("row %d: %d values for the parts %q", i, n, parts)
		}
		for k, p := range v.Parts {
			switch {
			case (p.Value == nil) != (p.Failure != ""), p.Failure != "" && (p.Error == "" || !slices.Contains(outcomes.RewardFailures, p.Failure)):
				t.Errorf("row %d: part %s is %+v", i, parts[k], p)
			case p.Value != nil && (math.IsNaN(*p.Value) || math.IsInf(*p.Value, 0)):
				t.Errorf("row %d: part %s is %v", i, parts[k], *p.Value)
			}
		}
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
