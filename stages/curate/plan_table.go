package curate

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
)

// requests returns what the groups of the first set should get, in their order.
// Every shard computes the same.
func (o *Options) requests(ctx context.Context, in *input, p *plan) (*requestList, error) {
	all := newRequestList(in.groups.spill)
	if _, other := in.sets[0].members.Params["by"]; other || o.PlanTable.Drawn() {
		return all, nil // its groups do not say how often an example was tried
	}
	size, err := o.size(in)
	if err != nil {
		return all, err
	}
	limit := cmp.Or(o.PlanTable.MaxPerExample, 2*size)
	if o.PlanTable.Forks != "" {
		if err := o.requestForks(ctx, in, p, size, all); err != nil {
			return all, err
		}
		return o.chosen(ctx, in, all)
	}
	for j, err := range p.verdicts(0, in.sets[0].end) {
		if err != nil {
			return all, err
		}
		if j.Fork || j.Epoch != in.epoch || !p.plannable(j.Verdict) {
			continue
		}
		w := o.request(j.Group, size)
		if w.Reason == requestVaried && o.PlanTable.Budget == nil {
			continue
		}
		if w.N = min(w.N, limit-j.Count); w.N <= 0 {
			continue
		}
		w.Group, w.Row = j.Index, j.FirstRow
		if o.PlanTable.Budget != nil {
			w.Std, w.Lot = j.StdPop, formats.Seed(o.Seed, "plan", j.ID)
		}
		if err := all.add(&w); err != nil {
			return all, err
		}
	}
	return o.chosen(ctx, in, all)
}

// size returns how many members a group should have; 0 if nothing says so.
func (o *Options) size(in *input) (int, error) {
	asked, _ := in.sets[0].base.Int("generations") // of rollout, if the dataset extends no other; 0 when unknown
	if size := cmp.Or(o.PlanTable.Generations, int(asked)); size > 0 {
		return size, nil
	}
	return in.usual()
}

// chosen returns the requests that are not for examples which are held out, and that the budget pays for.
func (o *Options) chosen(ctx context.Context, in *input, all *requestList) (*requestList, error) {
	all, err := in.withoutHeldOut(ctx, all)
	if err == nil && o.PlanTable.Budget != nil {
		all, err = all.afford(*o.PlanTable.Budget)
	}
	return all, err
}

// withoutHeldOut removes groups whose example is held out. If a group is
// refused as a whole, no other rule looks at it.
func (src *input) withoutHeldOut(ctx context.Context, all *requestList) (*requestList, error) {
	if src.holdout == nil || all.list.Len() == 0 {
		return all, nil
	}
	defer all.close()
	left := newRequestList(all.spill)
	next, stop := iter.Pull2(all.each())
	defer stop()
	w, err, more := next()
	if err != nil || !more {
		return left, err
	}
	type columns struct {
		ExampleID string `parquet:"example_id,dict"`
		Example   string `parquet:"example"`
	}
	at, base := int64(-1), src.sets[0].base
	for c, err := range dataset.Each[columns](ctx, base, "", base.All()) {
		if err != nil {
			return left, err
		}
		for at++; w.Row == at; {
			if src.holdout.Holds(&formats.Trajectory{ExampleID: c.ExampleID, Example: c.Example}) == nil {
				if err := left.add(w); err != nil {
					return left, err
				}
			}
			if w, err, more = next(); err != nil || !more {
				return left, err
			}
		}
	}
	return left, nil
}

// usual returns the most frequent size of the groups of the first set, the smaller of equals.
func (src *input) usual() (size int, err error) {
	times := map[int]int{}
	for g, err := range src.groups.every(0, src.sets[0].end) {
		if err != nil {
			return 0, err
		}
		if !g.Fork {
			times[g.Count]++
		}
	}
	for n, k := range times {
		if k > times[size] || k == times[size] && n < size {
			size = n
		}
	}
	return size, nil
}

// plannable reports whether a group with this verdict may be worth training on
// once it has more members.
func (p *plan) plannable(v Verdict) bool {
	return v.Reason == "" || slices.ContainsFunc(p.active, func(a active) bool {
		return a.Name == v.rule && slices.Contains(a.More, v.Reason)
	})
}

// request returns what a group deserves whose target size is size.
func (o *Options) request(g *Group, size int) request {
	flat := g.Flat(o.tolerance())
	lacks := size - (g.Count - g.Failed)
	switch {
	case flat && g.Solved >= 1 && g.Valid >= o.minValid():
		return request{}
	case lacks > 0 && g.Failed > 0:
		return request{N: lacks, Reason: requestFailed}
	case lacks > 0:
		return request{N: lacks, Reason: requestFew}
	case flat && g.Trains == training.NoAdvantages:
		return request{N: size, Reason: requestFew}
	case flat:
		return request{N: size, Reason: requestFlat}
	case g.Valid > 0:
		return request{N: size, Reason: requestVaried}
	}
	return request{}
}

// planTableWriter writes a shard's slice of _plan.
type planTableWriter struct {
	list  *requestList
	to    func() (*request, error, bool) // the remaining requests
	stop  func()
	first *request // of them; nil: none
	out   *shards.TableWriter[decision.Planned]
	rows  []decision.Planned
}

func (o *Options) newPlanTable(ctx context.Context, in *input, p *plan, shard *shards.Shard) (*planTableWriter, error) {
	list, err := o.requests(ctx, in, p)
	if err != nil {
		list.close()
		return nil, err
	}
	n := &planTableWriter{list: list, out: shards.NewTable[decision.Planned](shard, schema.TablePlan, -1)}
	n.to, n.stop = iter.Pull2(list.each())
	if n.first, err, _ = n.to(); err != nil {
		n.close()
	}
	return n, err
}

func (n *planTableWriter) close() {
	n.stop()
	n.list.close()
}

// add is called with every group, in the base's order.
func (n *planTableWriter) add(ctx context.Context, g *Group, members []formats.Member) error {
	var err error
	for err == nil && n.first != nil && n.first.Group <= g.Index {
		if n.first.Group == g.Index {
			err = n.append(ctx, n.row(g, members))
		}
		if err == nil {
			n.first, err, _ = n.to()
		}
	}
	return err
}

func (n *planTableWriter) append(ctx context.Context, row decision.Planned) error {
	if n.rows = append(n.rows, row); len(n.rows) < 1000 {
		return nil
	}
	return n.flush(ctx)
}

// row returns the row of the first of the remaining requests, for a group.
func (n *planTableWriter) row(g *Group, members []formats.Member) decision.Planned {
	row := plannedOf(g, n.first.N, n.first.Reason)
	for k := range members {
		row.First = max(row.First, members[k].Generation+1)
	}
	if n.first.From != "" {
		row.ForkedFrom, row.ForkCall, row.First = n.first.From, new(n.first.Call), n.first.First
	}
	return row
}

// plannedOf returns a row about a group, without the number of its first generation.
func plannedOf(g *Group, generations, reason int) decision.Planned {
	row := decision.Planned{
		ExampleID: g.ExampleID, GroupID: g.ID, Epoch: int32(g.Epoch), Generations: int32(generations),
		Reason: decision.PlanReasons[reason],
		Count:  int32(g.Count), Valid: int32(g.Valid), Failed: int32(g.Failed),
	}
	if g.Valid > 0 {
		row.Solved, row.StdPop = new(g.Solved), new(g.StdPop)
	}
	return row
}

func (n *planTableWriter) flush(ctx context.Context) error {
	err := n.out.Write(ctx, n.rows)
	n.rows = n.rows[:0]
	return err
}
