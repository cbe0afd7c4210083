package history

import (
	"context"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/query"
)

const (
	adviceEpochs = 5   // epochs with a reward before a trend is looked for
	flatShare    = 0.5 // of the groups
)

// Advice returns hints for a run that does not improve.
func Advice(epochs []Epoch) []string {
	var out []string
	var means []float64
	var groups, flat, failed, rows int64
	for _, e := range epochs {
		for _, stage := range stageNames {
			if m := e.Made.Stages[stage].Manifest; m != nil {
				for _, g := range m.Refusals() {
					out = append(out, fmt.Sprintf("advice: gate %s refused %s of epoch %d: its rows are kept, and no stage reads them "+
						"unless it accepts the gate", g.Name, stage, e.Epoch))
				}
			}
		}
		if e.Train == nil {
			continue
		}
		if e.Train.Trajectories == 0 {
			out = append(out, fmt.Sprintf("advice: no trajectories collected for epoch %d: check the examples, "+
				"rollout --target-function --target-model, and the agent's errors (rollmill show --failed)", e.Epoch))
		}
		if e.Train.Groups > 0 && e.Train.Scored == 0 {
			out = append(out, fmt.Sprintf("advice: none of the %d trajectories of epoch %d has a reward: check that it was "+
				"scored, and the errors of the rewards (rollmill show --failed)", e.Train.Trajectories, e.Epoch))
		}
		groups, flat, failed, rows = groups+e.Train.Groups, flat+e.Flat, failed+e.Train.Failed, rows+e.Train.Trajectories
		if e.Train.Mean != nil {
			means = append(means, *e.Train.Mean)
		}
	}
	if rows > 0 && 2*failed > rows {
		out = append(out, fmt.Sprintf("advice: %d of %d trajectories failed: check failure_class and error first",
			failed, rows))
	}
	if groups > 0 && rows <= groups {
		out = append(out, fmt.Sprintf("advice: each of the %d groups has one trajectory, so an estimator that compares "+
			"members has nothing to compare: raise rollout --generations (8 is usual, 2 is the least)", groups))
	}
	if n := len(means); n >= adviceEpochs && average(means[n-n/3:]) <= average(means[:n/3]) {
		out = append(out, "advice: rewards are not increasing: raise rollout --generations, try the curriculum, change "+
			"submit --learning-rate, and check that the reward separates good from bad answers")
		if groups > 0 && float64(flat) > flatShare*float64(groups) {
			out = append(out, fmt.Sprintf("advice: %d of %d groups are flat: their advantages are all 0, so nothing "+
				"can be learned from them", flat, groups))
		}
	}
	return out
}

func average(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
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
			for row, err := range query.Rows(ctx, rollouts[read], query.Query{}, "example_id", "example") {
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
		d, err := Open(ctx, rolloutOf(root, e.Epoch))
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
