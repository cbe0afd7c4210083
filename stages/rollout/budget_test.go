package rollout_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// spentRun runs until the budget is spent.
func spentRun(t *testing.T, o rollout.Options, says string) {
	t.Helper()
	_, err := rollout.Run(context.Background(), o)
	if kind(err) != stages.KindBudget || !strings.Contains(err.Error(), says) {
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
		small, large rollout.Budget
		says         string
	}{
		"tokens": {rollout.Budget{Tokens: 5 * tokens}, rollout.Budget{Tokens: 1000 * tokens}, "tokens"},
		"money": {rollout.Budget{Money: 5 * float64(tokens), PromptPrice: 1e6, CompletionPrice: 1e6},
			rollout.Budget{Money: 1e9, PromptPrice: 1e6, CompletionPrice: 1e6}, "money"},
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
	o.Budget = rollout.Budget{Tokens: 1, SkipRest: true}
	if r := run(t, o); r.Counts[formats.StatusSkipped] != 17 {
		t.Errorf("%+v", r)
	}
	list := rows(t, o.Out.URI)
	if len(list) != 18 || list[0].Status != formats.StatusOK {
		t.Fatalf("%d rows, the first %s", len(list), list[0].Status)
	}
	for i, row := range list[1:] {
		if row.Status != formats.StatusSkipped || row.StopReason != formats.StopBudget || len(row.Messages) != 0 || row.ExampleID != list[(i+1)/3*3].ExampleID {
			t.Fatalf("row %d: %+v", i+1, row)
		}
	}
	o.Budget = rollout.Budget{}
	if r := run(t, o); !r.UpToDate {
		t.Error("the dataset with skipped rows was made again unasked")
	}
	o.RetryFailed = true
	if r := run(t, o); r.RowsDigest != plain.RowsDigest || len(e.Asked()) != 18 {
		t.Errorf("digest %s after %d calls, want %s after 18", r.RowsDigest, len(e.Asked()), plain.RowsDigest)
	}
}
