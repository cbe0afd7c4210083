package rollout

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/storage/fault"
)

// fork says how often a prefix is continued: the calls of a trajectory before one of them.
type fork struct {
	from string // the trajectory
	call int32
	n    int32
}

// fork returns the prefix that a generation continues; nil if it begins at the start. The forks
// of a task are its last generations.
func (t task) fork(generation int32) *fork {
	left := t.first + t.n - generation
	for i := len(t.forks) - 1; i >= 0; i-- {
		if left -= t.forks[i].n; left <= 0 {
			return &t.forks[i]
		}
	}
	return nil
}

// join adds the attempts of another row of the plan to a task.
func (t *task) join(of task) {
	t.n += of.n
	t.first = max(t.first, of.first)
	t.forks = append(t.forks, of.forks...)
}

// id returns the id of an attempt, or of a fork.
func (o *Options) id(example string, generation int32, f *fork) string {
	if f != nil {
		example = formats.ForkKey(example, f.from, f.call)
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
func (o Options) openOrigins(ctx context.Context, t tasks) (*origins, error) {
	out := &origins{rows: map[string]int64{}}
	for _, task := range t.list {
		for _, f := range task.forks {
			out.rows[f.from] = -1
		}
	}
	if len(out.rows) == 0 {
		return nil, nil
	}
	if !o.asksEngine() {
		return nil, Usage("name an agent that asks a model", "the plan has forks, and this agent asks no engine")
	}
	at := slices.IndexFunc(o.Plan.d.Inputs, func(r manifest.Ref) bool { return r.Role == "base" })
	if at < 0 {
		return nil, fault.Invalid(o.Plan.d.URI(), "curate again", nil, "its manifest names no base")
	}
	var err error
	if out.d, err = o.Plan.d.OpenRef(ctx, o.Plan.d.Inputs[at]); err != nil {
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
			return nil, fault.Invalid(o.Plan.d.URI(), "curate again", nil, "the plan forks trajectory %q, which is not in %q", trajectory, out.d.URI())
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

// byExample orders the rows of a plan: those of an example together, forks last.
func byExample(a, b task) int {
	return cmp.Or(cmp.Compare(a.example, b.example), cmp.Compare(len(a.forks), len(b.forks)))
}
