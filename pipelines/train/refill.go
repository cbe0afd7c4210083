package train

import (
	"context"
	"fmt"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/watch"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Refill is dynamic sampling (DAPO, arXiv 2503.14476) over datasets: while too few groups of an
// epoch give a training signal, it makes what the plan of the last round asks for, and scores, groups and curates again.
// Each round extends the rollouts of the one before, in a folder extended in that round's own.
type Refill struct {
	Rounds int // at most; 0 for none
	Groups int // kept by curate that are enough; 0: no number is
}

// Declare declares the settings.
func (r *Refill) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	d.Int(&r.Rounds, "refill-rounds", "while too few groups give a training signal, extend the epoch's rollouts as its plan says, up to `N` times; "+
		"rollout's budgets count for all rounds together").Min(0)
	d.Int(&r.Groups, "target-groups", "stop when curate keeps `N` groups").Min(0).
		DefaultShown("when nothing is planned")
}

// validate refuses settings that cannot be meant, with a plan that is drawn for the next epoch or not.
func (r Refill) validate(drawn bool) error {
	if drawn && r.Rounds > 0 {
		return fault.Errorf(fault.Usage, "leave --plan-mix and --plan-pass-rate out, or --refill-rounds",
			"refill: the plan is drawn for the next epoch, and does not say what this one lacks")
	}
	if r.Groups > 0 && r.Rounds == 0 {
		return fault.Errorf(fault.Usage, "give --refill-rounds a number, such as 2",
			"--refill-rounds %d, --target-groups %d", r.Rounds, r.Groups)
	}
	return nil
}

// Again samples more in an epoch, with the policy that sampled it, until o.Refill is content, no
// example deserves more or the budget is spent. It returns the curated dataset of the last round. Rounds
// that are complete are not made again.
func (o Options) Again(ctx context.Context, e int, policy *receipts.Policy, done map[string]stages.Report) (curated string, err error) {
	if err := o.Refill.validate(o.Curate.PlanTable.Drawn()); err != nil {
		return "", err
	}
	dir, shards := o.layout().Epoch(e), 0
	for n := 1; ; n++ {
		curated = storage.Join(dir, "curate")
		if n > o.Refill.Rounds {
			return curated, nil
		}
		d, err := dataset.Open(ctx, curated, dataset.OpenOptions{AcceptGates: o.Curate.In.AcceptGates})
		if err != nil {
			return "", err
		}
		if d.Tables[schema.TablePlan].Rows == 0 || o.Refill.Groups > 0 && int(d.Facts["groups_kept"]) >= o.Refill.Groups {
			return curated, nil
		}
		before, err := dataset.Open(ctx, storage.Join(dir, "rollout"), dataset.OpenOptions{IgnoreGates: true})
		if err != nil {
			return "", err
		}
		if n == 1 {
			shards = before.Shards // an extended dataset has one, and the cost of all
		}
		model, _ := before.Params["model"].(string)
		left, ok := o.Rollout.Budget.Of(model).Left(shards, before.Facts)
		if !ok {
			o.Logger().Warn("the budget is spent, so the epoch is not refilled any more; a larger one goes on", "epoch", e, "rounds", n-1,
				"of", o.Refill.Rounds, "groups kept", d.Facts["groups_kept"], "planned", d.Tables[schema.TablePlan].Rows)
			return curated, nil
		}
		next := storage.Join(dir, "extended")
		if err := o.round(ctx, e, n, dir, next, policy, left, done); err != nil {
			return "", fmt.Errorf("refill %d: %w", n, err)
		}
		dir = next
	}
}

// round extends an epoch's rollouts in dir by what is planned there.
func (o Options) round(ctx context.Context, e, n int, dir, next string, policy *receipts.Policy, left watch.Budget,
	done map[string]stages.Report) error {
	env, accept := o.env(e, false), o.Curate.In.AcceptGates
	previous, err := o.previous(ctx, e)
	if err != nil {
		return err
	}
	return o.each(ctx, e, fmt.Sprintf("refill %d ", n), done, []step{
		{"rollout", func() (stages.Report, error) {
			r := o.Rollout
			if r.Plan, err = planning.OpenPlan(ctx, stages.Input{URI: storage.Join(dir, "curate"), AcceptGates: accept}); err != nil {
				return stages.Report{}, err
			}
			r.Env, r.Epoch, r.Policy, r.Budget, r.Out.URI = env, &e, policy, left, storage.Join(next, "rollout")
			r.Extend = stages.Input{URI: storage.Join(dir, "rollout"), AcceptGates: accept}
			return rollout.Run(ctx, r)
		}},
		{"score", func() (stages.Report, error) {
			s := o.Score
			s.Env, s.In.URI, s.Out.URI, s.Only = env, storage.Join(next, "rollout"), storage.Join(next, "score"), []string{"missing"}
			s.From = stages.Input{URI: storage.Join(dir, "score"), AcceptGates: s.In.AcceptGates}
			return score.Run(ctx, s)
		}},
		{"group", func() (stages.Report, error) { return o.group(ctx, env, next) }},
		{"curate", func() (stages.Report, error) { return o.curate(ctx, env, e, previous, next) }},
	})
}

// previous returns the curated dataset of the epoch before that was trained on, or "".
func (o Options) previous(ctx context.Context, e int) (string, error) {
	if e == 0 {
		return "", nil
	}
	dir, err := history.Last(ctx, o.layout().Epoch(e-1), "curate")
	return storage.Join(dir, "curate"), err
}

func (o Options) group(ctx context.Context, env stages.Env, dir string) (stages.Report, error) {
	g := o.Group
	g.Env, g.In.URI, g.Out.URI = env, storage.Join(dir, "score"), storage.Join(dir, "group")
	return group.Run(ctx, g)
}

func (o Options) curate(ctx context.Context, env stages.Env, e int, previous, dir string) (stages.Report, error) {
	c := o.Curate
	c.Env, c.In.URI, c.Out.URI, c.Epoch, c.Previous.URI = env, storage.Join(dir, "group"), storage.Join(dir, "curate"), &e, previous
	return curate.Run(ctx, c)
}
