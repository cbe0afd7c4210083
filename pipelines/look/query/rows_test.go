package query

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/storage"
)

// TestRows reads rows of groups that a condition chooses, with columns of their own and of their
// base, and compares them with those that were written.
func TestRows(t *testing.T) {
	e := epoch{root: t.TempDir()}
	e.write(t, randomtest.Options{Groups: 120, Generations: 5, Scored: true, Failures: 0.2, SampledTokens: 60, PromptTokens: 40})
	d, err := dataset.Open(t.Context(), storage.Join(e.root, "group"), dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		t.Fatal(err)
	}
	q, err := Parse("generation > 1 && status == 'ok'", "sampled_tokens", true)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	var rows []Row
	for r, err := range Rows(t.Context(), d, q, "trajectory_id", "generation", "group_id", "prompt_tokens", "example", "answer") {
		if err != nil {
			t.Fatal(err)
		}
		if r.Reward != nil || r.SampledTokens != 0 || r.Group() != r.GroupID {
			t.Fatalf("%+v has columns that were not asked for", r)
		}
		got = append(got, fmt.Sprint(r.Number, r.TrajectoryID, r.Generation, r.PromptTokens, r.Example, r.Answer))
		rows = append(rows, *r)
	}
	for i, w := range e.rows {
		if w.Generation > 1 && w.Status == "ok" {
			want = append(want, fmt.Sprint(i, w.TrajectoryID, w.Generation, w.PromptTokens, w.Example, w.Answer))
		}
	}
	if !slices.Equal(got, want) || len(got) < 50 {
		t.Errorf("%d rows, not %d", len(got), len(want))
	}

	first, err := First(t.Context(), d, q, 0, len(rows))
	slices.SortStableFunc(rows, func(a, b Row) int {
		switch {
		case q.Before(&a, &b):
			return -1
		case q.Before(&b, &a):
			return 1
		}
		return 0
	})
	if err != nil || !slices.EqualFunc(first, rows, func(n int64, r Row) bool { return n == r.Number }) {
		t.Errorf("in another order than First: %v", err)
	}
	for i := 1; i < len(rows); i++ {
		if e.rows[rows[i].Number].SampledTokens > e.rows[rows[i-1].Number].SampledTokens {
			t.Fatalf("row %d is after row %d", rows[i].Number, rows[i-1].Number)
		}
	}
}
