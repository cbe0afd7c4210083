package curate

import (
	"cmp"
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
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

func (n Next) params(set func(name string, value any, asked bool)) {
	set("plan-generations", n.Generations, n.Generations > 0)
	set("plan-max-per-example", n.MaxPerExample, n.MaxPerExample > 0)
	set("plan-budget", n.Budget, n.Budget != nil)
}

// wish is what is asked for of one group.
type wish struct {
	group  int // index in input.groups
	n      int
	reason int // index in formats.PlanReasons
	std    float64
	lot    int64 // decides between equals, by the seed
}

// wishes looks at the groups of the first set, and returns those of which
// more is asked for, by index, in its order. Every shard finds the same.
func (o *Options) wishes(ctx context.Context, in *input, verdicts []Verdict) ([]wish, error) {
	if _, other := in.sets[0].members.Params["by"]; other {
		return nil, nil // its groups do not say how often an example was tried
	}
	groups := in.groups[in.sets[0].first:in.sets[0].end]
	size := cmp.Or(o.Next.Generations, rolled(in.sets[0].base), usual(groups))
	most := cmp.Or(o.Next.MaxPerExample, 2*size)
	var all []wish
	for i, g := range groups {
		if g.Epoch != in.epoch || !wanted(verdicts[i].Reason) {
			continue
		}
		w := o.wish(g, size)
		if w.reason == wishVaried && o.Next.Budget == nil {
			continue
		}
		if w.n = min(w.n, most-g.Count); w.n > 0 {
			w.group = i
			if o.Next.Budget != nil {
				w.std, w.lot = g.StdPop, formats.Seed(o.Seed, "plan", g.ID)
			}
			all = append(all, w)
		}
	}
	all, err := in.withoutHeldOut(ctx, all)
	if err != nil {
		return nil, err
	}
	if o.Next.Budget != nil {
		slices.SortFunc(all, urgent)
		all = afford(all, *o.Next.Budget)
		slices.SortFunc(all, func(a, b wish) int { return cmp.Compare(a.group, b.group) })
	}
	return all, nil
}

// withoutHeldOut leaves out groups whose example is held out. Of a group that
// is refused as a whole no other rule looks at it.
func (in *input) withoutHeldOut(ctx context.Context, all []wish) ([]wish, error) {
	if in.holdout == nil || len(all) == 0 {
		return all, nil
	}
	type columns struct {
		ExampleID string `parquet:"example_id,dict"`
		Example   string `parquet:"example"`
	}
	first := make(map[int64]int, len(all)) // in all, by row
	for i, w := range all {
		first[in.groups[w.group].FirstRow] = i
	}
	at, base := int64(0), in.sets[0].base
	err := each(ctx, base, "", base.All(), func(c *columns) error {
		if i, is := first[at]; is {
			if _, held := in.holdout.Holds(c.ExampleID, c.Example); held {
				all[i].n = 0
			}
		}
		at++
		return nil
	})
	return slices.DeleteFunc(all, func(w wish) bool { return w.n == 0 }), err
}

// rolled is how many generations rollout was told to make, of what extends
// nothing; 0 when nobody says.
func rolled(d *dataset.Dataset) int {
	n, _ := d.Params["generations"].(float64)
	return int(n)
}

// usual is the number of members that most groups have, the smaller of equals.
func usual(groups []Group) (size int) {
	times := map[int]int{}
	for _, g := range groups {
		times[g.Count]++
	}
	for n, k := range times {
		if k > times[size] || k == times[size] && n < size {
			size = n
		}
	}
	return size
}

// wanted tells whether a group that was refused for a reason may be worth
// training on once it has more members.
func wanted(reason string) bool {
	return slices.Contains([]string{"", formats.DropMinValid, formats.DropFlat, formats.DropMinRewardDiff}, reason)
}

const (
	wishFailed = iota // indexes in formats.PlanReasons
	wishFew
	wishFlat
	wishVaried
)

// wish is what a group of which size members are wanted deserves.
func (o *Options) wish(g Group, size int) wish {
	tolerance := o.tolerance()
	flat := g.Valid > 0 && formats.Flat(g.Min, g.Max, tolerance)
	lacks := size - (g.Count - g.Failed)
	switch {
	case flat && g.Solved >= 1 && g.Valid >= o.minValid():
		return wish{}
	case lacks > 0 && g.Failed > 0:
		return wish{n: lacks, reason: wishFailed}
	case lacks > 0:
		return wish{n: lacks, reason: wishFew}
	case flat:
		return wish{n: size, reason: wishFlat}
	case g.Valid > 0:
		return wish{n: size, reason: wishVaried}
	}
	return wish{}
}

// urgent orders wishes: see Next.
func urgent(a, b wish) int {
	if c := cmp.Compare(a.reason, b.reason); c != 0 {
		return c
	}
	if a.reason == wishVaried {
		return cmp.Or(cmp.Compare(b.std, a.std), cmp.Compare(a.lot, b.lot), cmp.Compare(a.group, b.group))
	}
	return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.lot, b.lot), cmp.Compare(a.group, b.group))
}

// afford is the wishes that a budget pays for, the last of them perhaps in
// part.
func afford(all []wish, left int64) []wish {
	for i := range all {
		if left == 0 {
			return all[:i]
		}
		all[i].n = int(min(int64(all[i].n), left))
		left -= int64(all[i].n)
	}
	return all
}

// next writes a shard's slice of _plan.
type next struct {
	wishes []wish // those that are to come
	out    *dataset.TableWriter[formats.Planned]
	rows   []formats.Planned
}

func (o *Options) newNext(ctx context.Context, in *input, verdicts []Verdict, shard *dataset.Shard) (*next, error) {
	wishes, err := o.wishes(ctx, in, verdicts)
	return &next{wishes: wishes, out: dataset.NewTable[formats.Planned](shard, formats.TablePlan, -1)}, err
}

// add is told of every group, by its index, in the base's order.
func (n *next) add(ctx context.Context, i int, g Group, members []formats.Member) error {
	for len(n.wishes) > 0 && n.wishes[0].group < i {
		n.wishes = n.wishes[1:]
	}
	if len(n.wishes) == 0 || n.wishes[0].group > i {
		return nil
	}
	w := n.wishes[0]
	row := formats.Planned{
		ExampleID: g.ExampleID, GroupID: g.ID, Epoch: int32(g.Epoch), Generations: int32(w.n), Reason: formats.PlanReasons[w.reason],
		Count: int32(g.Count), Valid: int32(g.Valid), Failed: int32(g.Failed),
	}
	for k := range members {
		row.First = max(row.First, members[k].Generation+1)
	}
	if g.Valid > 0 {
		row.Solved, row.StdPop = &g.Solved, &g.StdPop
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
