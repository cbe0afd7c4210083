package history

import (
	"context"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/storage"
)

// taskColumns has the columns of a rollout that say what its tasks are.
type taskColumns struct {
	ExampleID string `parquet:"example_id,dict"`
	Example   string `parquet:"example"`
}

// ChangedTasks says of each rollout, in the order of the epochs, how many of its tasks differ
// from those that earlier ones had under the same ids; "" for none. Rows are read only if
// the manifests say that the tasks are not the same.
func ChangedTasks(ctx context.Context, rollouts []*dataset.Dataset) ([]string, error) {
	out, tasks, read := make([]string, len(rollouts)), map[string]xxh3.Uint128{}, 0
	for i := 1; i < len(rollouts); i++ {
		if rollouts[i].Params["examples"] == rollouts[i-1].Params["examples"] {
			continue
		}
		for ; read <= i; read++ {
			changed, first := map[string]bool{}, ""
			for row, err := range dataset.Each[taskColumns](ctx, rollouts[read], "", rollouts[read].All()) {
				if err != nil {
					return nil, err
				}
				content, _ := formats.ExampleContent(row.Example)
				if before, ok := tasks[row.ExampleID]; ok && before != content {
					if len(changed) == 0 {
						first = row.ExampleID
					}
					changed[row.ExampleID] = true
				}
				tasks[row.ExampleID] = content
			}
			if len(changed) > 0 {
				out[read] = fmt.Sprintf("%s changed under the same id, such as %q: counts by id, as the curriculum and _examples have them, mix both",
					plural.Of(len(changed), "task"), first)
			}
		}
	}
	return out, nil
}

// AdviseTasks returns what ChangedTasks says of a run, a line an epoch.
func AdviseTasks(ctx context.Context, root string, epochs []Epoch) (lines []string, err error) {
	var rollouts []*dataset.Dataset
	var numbers []int
	for _, e := range epochs {
		d, err := Open(ctx, storage.Join(run.Layout{Root: root}.Epoch(e.Epoch), "rollout"))
		if err != nil {
			return nil, err
		}
		if d != nil {
			rollouts, numbers = append(rollouts, d), append(numbers, e.Epoch)
		}
	}
	said, err := ChangedTasks(ctx, rollouts)
	for i, s := range said {
		if s != "" {
			lines = append(lines, fmt.Sprintf("advice: epoch %d: %s", numbers[i], s))
		}
	}
	return lines, err
}
