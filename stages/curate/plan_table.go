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
	"github.com/rollmill/rollmill/stages/plugin"
)

// PlanTable are the settings of the table _plan, which asks for more generations of
// examples whose groups have too few valid members, or no training signal yet.
// The table is always written, and decides nothing about the kept rows.
//
// A group is judged by its statistics, without regard to failures and rules of
// members. In order of urgency: a group whose members failed gets as many as it
// lacks (failed), and so does one that was rolled out too seldom (few); a flat
// one gets another Generations (flat), unless all of it is solved, because more
// attempts would give the same. Groups that lack the fewest come first, so that
// a budget completes as many as it can. The rest of a budget goes to the groups
// whose rewards differ most (varied). Members whose scoring failed should be
// scored again, not made again: they count as if they had a reward.
//
// No example gets more than MaxPerExample. None are planned for groups that a
// rule refused for what their example is (the other side of a split, held out,
// an easy pool, a filter), for those with enough members, for replayed epochs,
// for groups of forks, and when groups are not formed by example.
//
// With Mix or PassRate the plan is for the next epoch instead: mixing ratios and
// pass rates as users of NeMo Gym and NeMo RL ask for, and a way to find groups
// that are not flat before they are paid for, where DAPO's dynamic sampling
// (arXiv 2503.14476) drops them after. Examples are drawn from a task file, without
// replacement. Their number is divided over the keys of the mix by largest
// remainder; within a key an example's weight is the density of its pass rate, by its newest
// policy version in the table _examples with scored attempts. Those without any
// have the greatest weight. Held-out examples are not drawn (reason drawn).
type PlanTable struct {
	Generations   int    // target size of a group; default: rollout's --generations, or else the most frequent size
	MaxPerExample int    // of an example in all, including failed ones; default twice Generations
	Budget        *int64 // of all examples together; nil: no limit, and nothing for varied groups

	// Forks asks for continuations of prefixes instead, Generations of each: where, as a Fork constant; "" for none
	Forks      string
	ForkPoints int // of a trajectory; default 1

	// Mix or PassRate: draw from all examples of a task file instead, Generations of each, as many as Budget pays for
	Mix      Mix
	MixField string // of an example, with dots between nested names; default "source"
	PassRate PassRate
	IDKey    string // column of the task file with the ids; default "id"
}

// Drawn reports whether the plan is drawn from a task file, for the next epoch.
func (n *PlanTable) Drawn() bool { return len(n.Mix) > 0 || n.PassRate.Name != "" }

func (n PlanTable) validate() error {
	switch {
	case n.Generations < 0:
		return Usage("give the number of trajectories that a group should have", "curate: --plan-generations %d",
			n.Generations)
	case n.MaxPerExample < 0:
		return Usage("give the most trajectories of an example, including existing ones", "curate: --plan-max-per-example %d",
			n.MaxPerExample)
	case n.ForkPoints < 0 || n.ForkPoints > 0 && n.Forks == "":
		return Usage("say where with --plan-forks, and give at least 1", "curate: --plan-fork-points %d", n.ForkPoints)
	case n.Drawn() && (n.Budget == nil || n.Forks != "" || n.MaxPerExample > 0):
		return Usage("give --plan-budget, without --plan-forks and --plan-max-per-example",
			"curate: --plan-mix or --plan-pass-rate draws as many examples as --plan-budget pays for")
	case n.MixField != "" && len(n.Mix) == 0:
		return Usage("give --plan-mix too", "curate: --plan-mix-field %s without --plan-mix", n.MixField)
	case n.Budget != nil && *n.Budget < 0:
		return Usage("give a number of trajectories; 0 plans none", "curate: --plan-budget %d", *n.Budget)
	}
	return nil
}

// Declare declares the settings of the plan.
func (n *PlanTable) Declare(d *plugin.Declarer) {
	d.Int(&n.Generations, "plan-generations",
		"plan more generations for groups with fewer than `N` trajectories that did not fail, and N more for flat groups").
		ID("plan-generations").Shown("rollout's --generations")
	d.Int(&n.MaxPerExample, "plan-max-per-example", "plan at most `N` trajectories of an example in all").
		ID("plan-max-per-example").Shown("twice --plan-generations")
	d.OptionalInt64(&n.Budget, "plan-budget",
		"plan at most `N` trajectories in all; the rest of them goes to groups whose rewards differ most").ID("plan-budget").
		Shown("no limit")
	plugin.Choice(d, &n.Forks, "plan-forks", "plan forks instead: --plan-generations continuations of each trajectory from `POINTS` on: even, "+
		"difference (after the first answer that no other attempt has), entropy (the least likely answers), tool (a call that failed), compaction",
		ForkEven, ForkDifference, ForkEntropy, ForkTool, ForkCompaction).ID("plan-forks")
	plugin.Var(d, &n.Mix, "plan-mix", "draw the plan from --plan-examples in these `SHARES` of a field's values, such as math=0.4,code=0.6").
		ID("plan-mix")
	d.String(&n.MixField, "plan-mix-field", "find the keys of --plan-mix in this `FIELD` of an example; a.b for b in a").
		ID("plan-mix-field").Shown("source")
	d.String(&n.IDKey, "plan-id-key", "read the ids in --plan-examples from this `COLUMN`").ID("plan-id-key").Shown("id")
	plugin.Var(d, &n.PassRate, "plan-pass-rate",
		"draw the plan from --plan-examples by pass rates in this `DISTRIBUTION`: normal(0.5,0.2), uniform(0.2,0.8) or beta(2,2)").
		ID("plan-pass-rate").Shown("all pass rates are equal")
	d.Int(&n.ForkPoints, "plan-fork-points", "fork each trajectory at up to `N` points").ID("plan-fork-points").Shown("1")
}

// request is a request for more members of one group.
type request struct {
	Group  int   // index
	Row    int64 // the group's first
	N      int
	Reason int // index in decision.PlanReasons
	Std    float64
	Lot    int64 // decides between equals, by the seed

	From  string // of forks: the trajectory
	Call  int32
	First int32 // generation
}

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
			if _, held := src.holdout.Holds(c.ExampleID, c.Example); !held {
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

// usual returns the most frequent size of the groups of the first set, the
// smaller of equals.
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

const (
	requestFailed = iota // indexes in decision.PlanReasons
	requestFew
	requestFlat
	requestVaried
	requestDrawn
	requestFork
)

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
