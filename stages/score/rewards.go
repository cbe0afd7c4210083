package score

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// rewardSet are a run's rewards, in the order they are computed.
type rewardSet []component

type component struct {
	Spec
	Reward
	Description

	given []Spec // of a row: its own, and its parts
}

// makeRewards makes every reward; carried are the names of the rewards of rows before them.
// Nothing is started yet.
func makeRewards(o Options, carried []string, partial bool) (rewardSet, error) {
	o = o.defaults()
	var out rewardSet
	known := carried
	for _, spec := range o.Rewards {
		kind, err := o.Registry.Find(spec.Kind)
		if err != nil {
			return nil, usage(plugin.Nearest(spec.Kind, o.Registry.Names(), "kinds: "+strings.Join(o.Registry.Names(), ", ")),
				"reward %q: there is no kind %q", spec.String(), spec.Kind)
		}
		reward, err := kind.Make(spec.Arguments,
			Setup{Name: spec.Name, Known: known, Partial: partial, Seed: o.Seed, Timeout: o.Timeout, PassEnv: o.PassEnv,
				Judging: o.Judging, Concurrency: o.Concurrency, TaskEnv: o.taskEnv, Base: o.base, Open: o.Open, Log: o.Logger()})
		if err != nil {
			hint := cmp.Or(fault.HintOf(err), "see `rollmill help reward "+kind.Name+"`")
			return nil, usage(hint, "reward %q: %w", spec.Name, err)
		}
		c := component{Spec: spec, Reward: reward, Description: reward.Describe()}
		c.Spec.Parts, c.Spec.NoValue = c.Description.Parts, c.Description.NoValue
		c.given = given(c.Spec)
		if out = append(out, c); c.Detail == 0 || len(c.given) == 0 {
			return nil, fmt.Errorf("reward %q: kind %s describes nothing", spec.Name, kind.Name)
		}
		if err := c.checkGiven(known); err != nil {
			return nil, err
		}
		known = append(known[:len(known):len(known)], namesOf(c.given)...)
	}
	return out, nil
}

func (b rewardSet) specs() (out []Spec) {
	for _, c := range b {
		out = append(out, c.Spec)
	}
	return out
}

func (b rewardSet) close() error {
	var errs []error
	for _, c := range b {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (b rewardSet) detail() Detail {
	most := Light
	for _, c := range b {
		most = max(most, c.Detail)
	}
	return most
}

// stored reports whether a reward reads those with which trajectories came.
func (b rewardSet) stored() bool {
	return slices.ContainsFunc(b, func(c component) bool { return c.Stored })
}

// shown returns the rewards whose shaped rewards other rewards read; "" are the stored ones.
func (b rewardSet) shown() map[string]bool {
	out := map[string]bool{}
	for _, c := range b {
		if c.Shaped != nil {
			out[*c.Shaped] = true
		}
	}
	return out
}

// checkSteps refuses a reward that reads shaped rewards which are not
// available: a dataset keeps only their sum.
func (b rewardSet) checkSteps(stored bool) error {
	computed := map[string]bool{"": stored}
	for _, c := range b {
		switch {
		case c.Shaped == nil || computed[*c.Shaped]:
		case *c.Shaped == "":
			return usage("name a reward before it with of=, or score scores that have them",
				"reward %q: trajectories without scores have no shaped rewards", c.Name)
		default:
			return usage("compute it in this run too: a dataset keeps the sum of all shaped rewards, not those of each",
				"reward %q: the shaped rewards of %q are not kept", c.Name, *c.Shaped)
		}
		computed[c.Name] = true
	}
	return nil
}

// files digests the files that the rewards depend on, and those of --depends-on.
func (b rewardSet) files(ctx context.Context, o Options) (map[string]string, error) {
	out, err := digestFiles(ctx, o.DependsOn, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range b {
		files, err := digestFiles(ctx, c.Files, o.Open)
		if err != nil {
			return nil, err
		}
		words, err := digestWords(ctx, c.Words)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, files)
		maps.Copy(out, c.Digests)
		maps.Copy(out, words)
	}
	return out, nil
}

// TryRewards starts every reward that needs something outside this process, for
// `rollmill check`, and returns a sentence with their number.
func (o Options) TryRewards(ctx context.Context) (found string, err error) {
	o.taskEnv = verifier.ReadVariables(ctx, o.TaskEnv, os.LookupEnv)
	rewards, err := makeRewards(o, nil, false)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rewards.close()) }()
	n := 0
	for _, c := range rewards {
		if c.Start == nil {
			continue
		}
		n++
		if err := c.Start(ctx); err != nil {
			return "", usage("run the program by itself, and check its arguments in score.reward",
				"reward %q cannot be computed: %w", c.Name, err)
		}
	}
	return fmt.Sprintf("%s; %s started", plural.Of(len(rewards), "reward"), plural.Of(n, "program")), nil
}
