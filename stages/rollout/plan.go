package rollout

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
)

// Plan says which examples to attempt, and how often: the table _plan of a
// curated dataset.
type Plan struct {
	d     *dataset.Dataset
	epoch int
	rows  map[string]*formats.Planned // by example
}

// OpenPlan reads the plan of a curated dataset.
func OpenPlan(ctx context.Context, in stages.Input) (*Plan, error) {
	d, err := dataset.Open(ctx, in.URI, dataset.OpenOptions{AcceptGates: in.AcceptGates})
	if err != nil {
		return nil, err
	}
	table, ok := d.Tables[formats.TablePlan]
	epoch, known := d.Params["epoch"].(float64)
	if !ok || !known {
		return nil, formats.Invalid(d.URI(), "give --plan the dataset that curate wrote, with this version", nil, "it has no table %s", formats.TablePlan)
	}
	rows, err := dataset.ReadAll[formats.Planned](ctx, d, formats.TablePlan, dataset.Range{Rows: table.Rows})
	if err != nil {
		return nil, err
	}
	p := &Plan{d: d, epoch: int(epoch), rows: make(map[string]*formats.Planned, len(rows))}
	for i := range rows {
		r := &rows[i]
		if r.Generations < 1 || r.First < 0 || int(r.Epoch) != p.epoch || p.rows[r.ExampleID] != nil {
			return nil, formats.Invalid(d.URI(), "curate again", nil, "table %s: row %d, of example %q, cannot be", formats.TablePlan, i, r.ExampleID)
		}
		p.rows[r.ExampleID] = r
	}
	return p, nil
}

// Epoch is that of the groups that the plan was made of.
func (p *Plan) Epoch() int { return p.epoch }

// choose leaves of the examples those that are planned, in their order.
func (p *Plan) choose(all []formats.Example) ([]formats.Example, error) {
	var out []formats.Example
	for _, e := range all {
		if p.rows[e.ID] != nil {
			out = append(out, e)
		}
	}
	if len(out) == len(p.rows) {
		return out, nil
	}
	have := make(map[string]bool, len(out))
	for _, e := range out {
		have[e.ID] = true
	}
	missing := ""
	for id := range p.rows {
		if !have[id] && (missing == "" || id < missing) {
			missing = id
		}
	}
	return nil, formats.Invalid(p.d.URI(), "give --examples the task file that the plan's rollouts were made from", nil,
		"table %s names %d examples that the task file has not, such as %q", formats.TablePlan, len(p.rows)-len(out), missing)
}

// task is the attempts to make at one example: n of them, from generation
// first on.
type task struct {
	example  formats.Example
	first, n int
}

// task is what to make of an example. In the epoch of the plan it adds to what
// is there; in another one there is nothing yet.
func (o Options) task(e formats.Example) task {
	if o.Plan == nil {
		return task{example: e, n: o.Generations}
	}
	row := o.Plan.rows[e.ID]
	t := task{example: e, n: int(row.Generations)}
	if o.Epoch == o.Plan.epoch {
		t.first = int(row.First)
	}
	return t
}

// tasks is this shard's, in the order of the rows.
func (o Options) tasks() []task {
	from, to := o.block()
	out := make([]task, 0, to-from)
	for _, e := range o.Examples[from:to] {
		out = append(out, o.task(e))
	}
	return out
}

// attempts is how many trajectories tasks come to.
func attempts(tasks []task) (n int) {
	for _, t := range tasks {
		n += t.n
	}
	return n
}
