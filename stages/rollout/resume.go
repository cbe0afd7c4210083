package rollout

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// finished is what resuming needs of a journalled row.
type finished struct {
	TrajectoryID string `parquet:"trajectory_id"`
	Status       string `parquet:"status,dict"`
	Attempts     int32  `parquet:"attempts,delta"`

	PromptTokens     int32 `parquet:"prompt_tokens,delta"`
	CompletionTokens int32 `parquet:"completion_tokens,delta"`
}

// readDone reads which trajectories earlier runs of this shard finished. Of
// one that failed and was attempted again, the better end counts.
func readDone(ctx context.Context, shard *dataset.Shard, spent *spending) (map[string]finished, error) {
	journal, err := dataset.OpenJournal[finished](ctx, shard)
	if err != nil {
		return nil, err
	}
	done := map[string]finished{}
	for row, err := range journal.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		spent.add(int64(row.PromptTokens), int64(row.CompletionTokens))
		if old, seen := done[row.TrajectoryID]; !seen || old.Status == formats.StatusFailed {
			done[row.TrajectoryID] = *row
		}
	}
	return done, nil
}

// jobs are the attempts still to make, in the order of the rows.
func (o Options) jobs(tasks []task, done map[string]finished) []job {
	var out []job
	for i := range tasks {
		t := &tasks[i]
		for g := t.first; g < t.first+t.n; g++ {
			j := job{task: t, generation: int32(g)}
			if row, ok := done[o.id(*t, g)]; ok {
				if row.Status != formats.StatusFailed || !o.RetryFailed {
					continue
				}
				j.attempts = row.Attempts
			}
			out = append(out, j)
		}
	}
	return out
}

// id names an attempt.
func (o Options) id(t task, generation int) string {
	return formats.TrajectoryID(o.Run, t.example.ID, o.Epoch, generation)
}
