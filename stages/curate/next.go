package curate

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Next says what the table _plan asks for: more generations of examples whose
// groups have too few members that count, or teach nothing yet. It is always
// written, and decides nothing about the rows that are kept.
//
// A group is looked at by its statistics, all failures and rules of members
// aside. In order of urgency: of one whose members failed, as many are asked
// for as it lacks (failed), and of one that was rolled out too seldom (few);
// of a flat one, another Generations (flat), unless all of it is solved, of
// which more tries would say the same. Groups that lack the fewest come first, so that a
// budget completes as many as it can. What is left of a budget goes to the
// groups whose rewards differ most (varied). Members that failed to be scored
// want to be scored again, not made again: they count as if they had a reward.
//
// No example has more asked for than MaxPerExample allows. None is asked for
// of groups that a rule refused for what their example is (the other side of a
// split, held out, an easy pool, a filter), of those it had enough of, of
// replayed epochs, and when groups are formed by something else than examples.
type Next struct {
	Generations   int    // that a group should have; default: as rollout was told, or else as many as most groups have
	MaxPerExample int    // of an example in all, those too that failed; default twice Generations
	Budget        *int64 // of all examples together; nil: no limit, and nothing for varied groups
}

func (n Next) validate() error {
	switch {
	case n.Generations < 0:
		return usage("give the number of trajectories that a group should have", "curate: --plan-generations %d", n.Generations)
	case n.MaxPerExample < 0:
		return usage("give the most trajectories of an example, those too that are there", "curate: --plan-max-per-example %d", n.MaxPerExample)
	case n.Budget != nil && *n.Budget < 0:
		return usage("give a number of trajectories; 0 plans none", "curate: --plan-budget %d", *n.Budget)
	}
	return nil
}

// Declare names the settings of the plan.
func (n *Next) Declare(d *plugin.Declarer) {
	d.Int(&n.Generations, "plan-generations", "plan more generations for groups with fewer than `N` trajectories that did not fail, and N more for flat ones").ID("plan-generations").Shown("rollout's --generations")
	d.Int(&n.MaxPerExample, "plan-max-per-example", "plan at most `N` trajectories of an example in all").ID("plan-max-per-example").Shown("twice --plan-generations")
	d.OptionalInt64(&n.Budget, "plan-budget", "plan at most `N` trajectories in all; what is left of them goes where rewards differ most").ID("plan-budget").Shown("no limit")
}

// request is what is asked for of one group.
type request struct {
	Group  int   // index
	Row    int64 // the group's first
	N      int
	Reason int // index in formats.PlanReasons
	Std    float64
	Lot    int64 // decides between equals, by the seed
}

// requests looks at the groups of the first set, and lists those of which more
// is asked for, in its order. Every shard finds the same.
func (o *Options) requests(ctx context.Context, in *input, p *plan) (*requestList, error) {
	all := newRequestList(in.groups.spill)
	if _, other := in.sets[0].members.Params["by"]; other {
		return all, nil // its groups do not say how often an example was tried
	}
	size := cmp.Or(o.Next.Generations, rolled(in.sets[0].base))
	if size == 0 {
		var err error
		if size, err = in.usual(); err != nil {
			return all, err
		}
	}
	most := cmp.Or(o.Next.MaxPerExample, 2*size)
	for j, err := range p.verdicts(0, in.sets[0].end) {
		if err != nil {
			return all, err
		}
		if j.Epoch != in.epoch || !wanted(j.Reason) {
			continue
		}
		w := o.request(j.Group, size)
		if w.Reason == requestVaried && o.Next.Budget == nil {
			continue
		}
		if w.N = min(w.N, most-j.Count); w.N <= 0 {
			continue
		}
		w.Group, w.Row = j.index, j.FirstRow
		if o.Next.Budget != nil {
			w.Std, w.Lot = j.StdPop, formats.Seed(o.Seed, "plan", j.ID)
		}
		if err := all.add(&w); err != nil {
			return all, err
		}
	}
	all, err := in.withoutHeldOut(ctx, all)
	if err == nil && o.Next.Budget != nil {
		all, err = all.afford(*o.Next.Budget)
	}
	return all, err
}

// withoutHeldOut leaves out groups whose example is held out. Of a group that
// is refused as a whole no other rule looks at it.
func (in *input) withoutHeldOut(ctx context.Context, all *requestList) (*requestList, error) {
	if in.holdout == nil || all.list.Len() == 0 {
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
	at, base := int64(-1), in.sets[0].base
	for c, err := range dataset.Each[columns](ctx, base, "", base.All()) {
		if err != nil {
			return left, err
		}
		if at++; w.Row != at {
			continue
		}
		if _, held := in.holdout.Holds(c.ExampleID, c.Example); !held {
			if err := left.add(w); err != nil {
				return left, err
			}
		}
		if w, err, more = next(); err != nil || !more {
			return left, err
		}
	}
	return left, nil
}

// rolled is how many generations rollout was told to make, of what extends
// nothing; 0 when nobody says.
func rolled(d *dataset.Dataset) int {
	n, _ := d.Int("generations")
	return int(n)
}

// usual is the number of members that most groups of the first set have, the
// smaller of equals.
func (in *input) usual() (size int, err error) {
	times := map[int]int{}
	for g, err := range in.groups.every(0, in.sets[0].end) {
		if err != nil {
			return 0, err
		}
		times[g.Count]++
	}
	for n, k := range times {
		if k > times[size] || k == times[size] && n < size {
			size = n
		}
	}
	return size, nil
}

// wanted tells whether a group that was refused for a reason may be worth
// training on once it has more members.
func wanted(reason string) bool {
	return slices.Contains([]string{"", formats.DropMinValid, formats.DropFlat, formats.DropMinRewardDiff}, reason)
}

const (
	requestFailed = iota // indexes in formats.PlanReasons
	requestFew
	requestFlat
	requestVaried
)

// request is what a group of which size members are wanted deserves.
func (o *Options) request(g *Group, size int) request {
	tolerance := o.tolerance()
	flat := g.Valid > 0 && formats.Flat(g.Min, g.Max, tolerance)
	lacks := size - (g.Count - g.Failed)
	switch {
	case flat && g.Solved >= 1 && g.Valid >= o.minValid():
		return request{}
	case lacks > 0 && g.Failed > 0:
		return request{N: lacks, Reason: requestFailed}
	case lacks > 0:
		return request{N: lacks, Reason: requestFew}
	case flat:
		return request{N: size, Reason: requestFlat}
	case g.Valid > 0:
		return request{N: size, Reason: requestVaried}
	}
	return request{}
}

// next writes a shard's slice of _plan.
type next struct {
	list  *requestList
	to    func() (*request, error, bool) // the requests that are to come
	stop  func()
	first *request // of them; nil: none
	out   *dataset.TableWriter[formats.Planned]
	rows  []formats.Planned
}

func (o *Options) newNext(ctx context.Context, in *input, p *plan, shard *dataset.Shard) (*next, error) {
	list, err := o.requests(ctx, in, p)
	if err != nil {
		list.close()
		return nil, err
	}
	n := &next{list: list, out: dataset.NewTable[formats.Planned](shard, formats.TablePlan, -1)}
	n.to, n.stop = iter.Pull2(list.each())
	if n.first, err, _ = n.to(); err != nil {
		n.close()
	}
	return n, err
}

func (n *next) close() {
	n.stop()
	n.list.close()
}

// add is told of every group, in the base's order.
func (n *next) add(ctx context.Context, g *Group, members []formats.Member) error {
	var err error
	for err == nil && n.first != nil && n.first.Group < g.index {
		n.first, err, _ = n.to()
	}
	if err != nil || n.first == nil || n.first.Group > g.index {
		return err
	}
	row := formats.Planned{
		ExampleID: g.ExampleID, GroupID: g.ID, Epoch: int32(g.Epoch), Generations: int32(n.first.N), Reason: formats.PlanReasons[n.first.Reason],
		Count: int32(g.Count), Valid: int32(g.Valid), Failed: int32(g.Failed),
	}
	for k := range members {
		row.First = max(row.First, members[k].Generation+1)
	}
	if g.Valid > 0 {
		solved, std := g.Solved, g.StdPop
		row.Solved, row.StdPop = &solved, &std
	}
	if n.rows = append(n.rows, row); len(n.rows) < 1000 {
		return nil
	}
	return n.flush(ctx)
}

func (n *next) flush(ctx context.Context) error {
	err := n.out.Write(ctx, n.rows)
	n.rows = n.rows[:0]
	return err
}
