package planning

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// Plan says which examples to attempt, and how often: the table _plan of a
// curated dataset.
type Plan struct {
	Dataset *dataset.Dataset
	Epoch   int // of the groups that the plan was made from
}

// OpenPlan opens the plan of a curated dataset. Its rows are read later, when
// the examples are known.
func OpenPlan(ctx context.Context, in stages.Input) (*Plan, error) {
	d, err := dataset.Open(ctx, in.URI, dataset.OpenOptions{AcceptGates: in.AcceptGates})
	if err != nil {
		return nil, err
	}
	_, ok := d.Tables[schema.TablePlan]
	epoch, known := d.Int("epoch")
	if !ok || !known {
		return nil, fault.Invalid(d.URI(), "give --plan the dataset that curate wrote, with this version", nil,
			"it has no table %s", schema.TablePlan)
	}
	return &Plan{Dataset: d, Epoch: int(epoch)}, nil
}

// Base returns the dataset that the plan was made of.
func (p *Plan) Base() (manifest.Ref, error) {
	base := p.Dataset.Input("base")
	if base == nil {
		return manifest.Ref{}, fault.Invalid(p.Dataset.URI(), "curate again", nil, "its manifest names no base")
	}
	return *base, nil
}

// Origins returns the reference to the dataset whose trajectories the plan forks, for a dataset
// that will be at a URI.
func (p *Plan) Origins(from string) (manifest.Ref, error) {
	r, err := p.Base()
	r.Role, r.URI = "origins", runroot.Relative(from, runroot.Resolve(p.Dataset.Address, r.URI))
	return r, err
}

type planned struct {
	ExampleID   string `parquet:"example_id"`
	Epoch       int32  `parquet:"epoch,delta"`
	Generations int32  `parquet:"generations,delta"`
	First       int32  `parquet:"first_generation,delta"`
	ForkedFrom  string `parquet:"forked_from,optional"`
	ForkCall    *int32 `parquet:"fork_call,optional"`
}

// Tasks returns the planned tasks in the order of the examples. In the epoch of
// the plan they add to existing generations; in another epoch there are none.
func (p *Plan) Tasks(ctx context.Context, all Examples, epoch int) (Tasks, error) {
	var list []Task
	var lacks []string // examples that are not in the task file
	at := -1
	for row, err := range dataset.Each[planned](ctx, p.Dataset, schema.TablePlan, p.Dataset.AllOf(schema.TablePlan)) {
		if err != nil {
			return Tasks{}, err
		}
		if at++; row.Generations < 1 || row.First < 0 || int(row.Epoch) != p.Epoch ||
			(row.ForkCall == nil) != (row.ForkedFrom == "") || row.ForkCall != nil && *row.ForkCall < 0 {
			return Tasks{}, fault.Invalid(p.Dataset.URI(), "curate again", nil, "table %s: row %d, of example %q, is invalid",
				schema.TablePlan, at, row.ExampleID)
		}
		i, ok, err := all.Find(row.ExampleID)
		if err != nil {
			return Tasks{}, err
		}
		if !ok {
			lacks = append(lacks, strings.Clone(row.ExampleID))
			continue
		}
		t := Task{Example: i, N: row.Generations}
		if epoch == p.Epoch {
			t.First = row.First
		}
		if row.ForkCall != nil {
			t.Forks = []Fork{{strings.Clone(row.ForkedFrom), *row.ForkCall, row.Generations}}
		}
		list = append(list, t)
	}
	if len(lacks) > 0 {
		return Tasks{}, fault.Invalid(p.Dataset.URI(),
			"give --examples the task file that the plan's rollouts were made from", nil,
			"table %s names %d examples that are not in the task file, such as %q", schema.TablePlan, len(lacks), slices.Min(lacks))
	}
	slices.SortStableFunc(list, byExample)
	joined := list[:0]
	for _, t := range list {
		switch k := len(joined) - 1; {
		case k < 0 || joined[k].Example != t.Example:
			joined = append(joined, t)
		case t.Forks != nil:
			joined[k].N, joined[k].First = joined[k].N+t.N, max(joined[k].First, t.First)
			joined[k].Forks = append(joined[k].Forks, t.Forks...)
		default:
			e, err := all.At(t.Example)
			return Tasks{}, errors.Join(err,
				fault.Invalid(p.Dataset.URI(), "curate again", nil,
					"table %s: example %q occurs twice", schema.TablePlan, e.ID))
		}
	}
	return Listed(joined), nil
}
