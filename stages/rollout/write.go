package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
)

// write writes the journalled rows in the order of examples and generations,
// one group at a time. With skip, what is missing becomes skipped rows.
func write(ctx context.Context, o Options, journal *dataset.Journal[formats.Trajectory], table *dataset.TableWriter[formats.Trajectory], skip bool) (dataset.Outcome, error) {
	from, to := o.block()
	order := make(map[string]int64, to-from)
	for i := from; i < to; i++ {
		order[o.Examples[i].ID] = int64(i)
	}
	outcome := dataset.Outcome{Facts: map[string]float64{}}
	next := int64(from)
	var group []formats.Trajectory
	flush := func() error {
		if skip {
			group = o.fillUp(o.Examples[next], group)
		}
		rows, err := settleGroup(o, group)
		if err != nil {
			return err
		}
		for i := range rows {
			count(&outcome, &rows[i])
		}
		group = nil
		next++
		return table.Write(ctx, rows)
	}
	// The journal gives, of equal rank, the row that came first. A failure
	// ranks apart, so that the attempt that mended it is seen as well.
	rank := func(t *formats.Trajectory) int64 {
		r := 2 * order[t.ExampleID]
		if t.Status == formats.StatusFailed {
			r++
		}
		return r
	}
	for rows, err := range journal.Sorted(ctx, rank) {
		if err != nil {
			return outcome, err
		}
		for order[rows[0].ExampleID] != next {
			if err := flush(); err != nil {
				return outcome, err
			}
		}
		group = append(group, rows...)
	}
	for next < int64(to) {
		if err := flush(); err != nil {
			return outcome, err
		}
	}
	return outcome, nil
}

// fillUp adds skipped rows for the generations that were not made.
func (o Options) fillUp(e formats.Example, rows []formats.Trajectory) []formats.Trajectory {
	made := make([]bool, o.Generations)
	for _, t := range rows {
		made[t.Generation] = true
	}
	for g, is := range made {
		if !is {
			rows = append(rows, o.skipped(e, g))
		}
	}
	return rows
}

// settleGroup sorts a group by generation and picks one row for each: one that
// did not fail, if there is one.
func settleGroup(o Options, rows []formats.Trajectory) ([]formats.Trajectory, error) {
	slices.SortStableFunc(rows, func(a, b formats.Trajectory) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(failed(a), failed(b)))
	})
	rows = slices.CompactFunc(rows, func(a, b formats.Trajectory) bool { return a.Generation == b.Generation })
	if len(rows) != o.Generations {
		return nil, fmt.Errorf("rollout: the journal holds %d of %d generations of an example", len(rows), o.Generations)
	}
	return rows, nil
}

func failed(t formats.Trajectory) int {
	if t.Status == formats.StatusFailed {
		return 1
	}
	return 0
}

func count(o *dataset.Outcome, t *formats.Trajectory) {
	stages.Count(&o.Counts, t.Status, 1)
	stages.Count(&o.Failures, t.FailureClass, 1)
	o.Facts["calls"] += float64(len(t.Calls))
	o.Facts["prompt_tokens"] += float64(t.PromptTokens)
	o.Facts["completion_tokens"] += float64(t.CompletionTokens)
	o.Facts["sampled_tokens"] += float64(t.SampledTokens)
}

// tally is what the progress bar notes.
type tally struct {
	mu             sync.Mutex
	rows, failures int64
	tokens         int64
}

func (c *tally) note(t *formats.Trajectory) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows++
	c.tokens += int64(t.CompletionTokens)
	c.failures += int64(failed(*t))
	return fmt.Sprintf("%d tokens, %d failed", c.tokens, c.failures)
}

func report(result dataset.Result, outcome dataset.Outcome) stages.Report {
	r := stages.Report{
		Stage: stage, URI: result.URI, Identity: result.Identity, UpToDate: result.UpToDate, Missing: result.Missing,
		Rows: result.Rows, Counts: outcome.Counts, Failures: outcome.Failures,
	}
	if m := result.Sealed; m != nil {
		r.Sealed, r.Rows, r.RowsDigest, r.Counts, r.Failures = true, m.Rows, m.RowsDigest.String(), m.Counts, m.Failures
	}
	r.Message = fmt.Sprintf("%d trajectories, %d failed", r.Rows, r.Counts[formats.StatusFailed])
	return r
}
