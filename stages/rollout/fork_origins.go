package rollout

import (
	"context"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/storage/fault"
)

// id returns the id of an attempt, or of a fork.
func (o *Options) id(example string, generation int32, f *planning.Fork) string {
	if f != nil {
		example = formats.ForkKey(example, f.From, f.Call)
	}
	return formats.TrajectoryID(o.Run, example, o.AtEpoch(), int(generation))
}

// origins are the trajectories that a plan forks.
type origins struct {
	d    *dataset.Dataset
	rows map[string]int64 // by trajectory

	mu     sync.Mutex
	last   string // trajectory
	answer []recorder.Answered
}

// openOrigins finds the trajectories that tasks fork in the dataset that the plan was made of; nil
// without forks.
func (o Options) openOrigins(ctx context.Context, t planning.Tasks) (*origins, error) {
	out := &origins{rows: map[string]int64{}}
	for i := range t.Len() {
		for _, f := range t.At(i).Forks {
			out.rows[f.From] = -1
		}
	}
	if len(out.rows) == 0 {
		return nil, nil
	}
	if !o.asksEngine() {
		return nil, agents.Usage("name an agent that asks a model", "the plan has forks, and this agent asks no engine")
	}
	base, err := o.Plan.Base()
	if err != nil {
		return nil, err
	}
	if out.d, err = o.Plan.Dataset.OpenRef(ctx, base); err != nil {
		return nil, err
	}
	type id struct {
		TrajectoryID string `parquet:"trajectory_id"`
	}
	row := int64(-1)
	for t, err := range dataset.Each[id](ctx, out.d, "", out.d.All()) {
		if err != nil {
			return nil, err
		}
		if row++; out.rows[t.TrajectoryID] < 0 {
			out.rows[t.TrajectoryID] = row
		}
	}
	for trajectory, row := range out.rows {
		if row < 0 {
			return nil, fault.Invalid(o.Plan.Dataset.URI(), "curate again", nil,
				"the plan forks trajectory %q, which is not in %q", trajectory, out.d.URI())
		}
	}
	return out, nil
}

// of returns the answered calls of a trajectory.
func (g *origins) of(ctx context.Context, trajectory string) ([]recorder.Answered, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == trajectory {
		return g.answer, nil
	}
	rows, err := dataset.ReadAll[formats.Trajectory](ctx, g.d, "", dataset.Range{First: g.rows[trajectory], Rows: 1})
	if err != nil {
		return nil, err
	}
	g.last, g.answer = trajectory, recorder.AnsweredOf(&rows[0])
	return g.answer, nil
}
