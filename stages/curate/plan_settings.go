package curate

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Mix is the proportions in which examples are drawn, by the value of a field, in the order of values.
type Mix []MixShare

// MixShare is one of them.
type MixShare struct {
	Key   string  `json:"key"`
	Share float64 `json:"share"` // relative to the others
}

// Parse reads a mix as "math=0.4,code=0.6"; an empty text is none.
func (m *Mix) Parse(texts []string) error {
	var mix Mix
	text := strings.Join(texts, ",")
	for part := range strings.SplitSeq(text, ",") {
		key, share, _ := strings.Cut(strings.TrimSpace(part), "=")
		x, err := strconv.ParseFloat(share, 64)
		twice := slices.ContainsFunc(mix, func(s MixShare) bool { return s.Key == key })
		if text != "" && (key == "" || err != nil || !(x > 0) || math.IsInf(x, 0) || twice) {
			return Usage("write it as math=0.4,code=0.6, each key once; shares are relative, so math=2,code=3 is the same",
				"curate: --plan-mix %q: %q is not another key with a share above 0", text, part)
		}
		mix = append(mix, MixShare{key, x})
	}
	slices.SortFunc(mix, func(a, b MixShare) int { return cmp.Compare(a.Key, b.Key) })
	if *m = mix; text == "" {
		*m = nil
	}
	return nil
}

// fieldOf returns a field of an example, with dots between nested names; nil if it has none.
func fieldOf(object []byte, path string) []byte {
	name, rest, nested := strings.Cut(path, ".")
	v := jsontext.ParseObject(object).Get(name)
	if !nested || v == nil {
		return v
	}
	return fieldOf(v, rest)
}

// quotas divides n examples over the keys. None gets more than it has: the others get the rest, by
// their shares.
func (m Mix) quotas(n int, has []int) []int {
	out := make([]int, len(m))
	for before := -1; n != before; {
		before = n
		for k, quota := range m.divide(n, func(k int) bool { return out[k] < has[k] }) {
			quota = min(quota, has[k]-out[k])
			out[k], n = out[k]+quota, n-quota
		}
	}
	return out
}

// divide divides n over the open keys by their shares: the largest remainders are rounded up, the
// first of equal ones.
func (m Mix) divide(n int, open func(int) bool) []int {
	sum, left, order := 0.0, n, []int(nil)
	for k := range m {
		if open(k) {
			sum, order = sum+m[k].Share, append(order, k)
		}
	}
	out, rest := make([]int, len(m)), make([]float64, len(m))
	for _, k := range order {
		exact := float64(float64(n) * (m[k].Share / sum))
		out[k] = int(exact)
		rest[k], left = exact-float64(out[k]), left-out[k]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, k := range order[:max(0, min(left, len(order)))] {
		out[k]++
	}
	return out
}

// PlanTable are the settings of the table _plan, which asks for more generations of
// examples whose groups have too few valid members, or no training signal yet.
// The table is always written, and decides nothing about the kept rows.
//
// A group is judged by its statistics, without regard to failures and rules of members. In order
// of urgency: a group whose members failed gets as many as it lacks (failed), and so does one
// that was rolled out too seldom (few); a flat one gets another Generations (flat), unless all
// of it is solved, because more attempts would give the same. Groups that lack the fewest come
// first, so that a budget completes as many as it can. The rest of a budget goes to the groups
// whose rewards differ most (varied). Members whose scoring failed should be scored again, not
// made again: they count as if they had a reward.
//
// No example gets more than MaxPerExample. None are planned for groups that a
// rule refused for what their example is (the other side of a split, held out,
// an easy pool, a filter), for those with enough members, for other epochs,
// for groups of forks, and when groups are not formed by example.
//
// With Mix or PassRate the plan is for the next epoch instead: mixing ratios and pass rates as
// users of NeMo Gym and NeMo RL ask for, and a way to find groups that are not flat before they
// are paid for, where DAPO's dynamic sampling (arXiv 2503.14476) drops them after. Examples are
// drawn from a task file, without replacement. Their number is divided over the keys of the mix
// by largest remainder; within a key an example's weight is the density of its pass rate, by its
// newest policy version in the table _examples with scored attempts. Those without any have the
// greatest weight. Held-out examples are not drawn (reason drawn).
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
	case n.ForkPoints > 0 && n.Forks == "":
		return Usage("say where with --plan-forks, and give at least 1", "curate: --plan-fork-points %d", n.ForkPoints)
	case n.Drawn() && (n.Budget == nil || n.Forks != "" || n.MaxPerExample > 0):
		return Usage("give --plan-budget, without --plan-forks and --plan-max-per-example",
			"curate: --plan-mix or --plan-pass-rate draws as many examples as --plan-budget pays for")
	case n.MixField != "" && len(n.Mix) == 0:
		return Usage("give --plan-mix too", "curate: --plan-mix-field %s without --plan-mix", n.MixField)
	}
	return nil
}

// Declare declares the settings of the plan.
func (n *PlanTable) Declare(d *plugin.Declarer) {
	d.Int(&n.Generations, "plan-generations",
		"plan more generations for groups with fewer than `N` trajectories that did not fail, and N more for flat groups").Min(0).
		ID("plan-generations").DefaultShown("rollout's --generations")
	d.Int(&n.MaxPerExample, "plan-max-per-example", "plan at most `N` trajectories of an example in all").Min(0).
		ID("plan-max-per-example").DefaultShown("twice --plan-generations")
	d.OptionalInt64(&n.Budget, "plan-budget",
		"plan at most `N` trajectories in all; the rest of them goes to groups whose rewards differ most").Min(0).ID("plan-budget").
		DefaultShown("no limit")
	plugin.Choice(d, &n.Forks, "plan-forks", "plan forks instead: --plan-generations continuations of each trajectory from `POINTS` on: even, "+
		"difference (after the first answer that no other attempt has), entropy (the least likely answers), tool (a call that failed), compaction",
		ForkEven, ForkDifference, ForkEntropy, ForkTool, ForkCompaction).ID("plan-forks")
	plugin.Var(d, &n.Mix, "plan-mix", "draw the plan from --plan-examples in these `SHARES` of a field's values, such as math=0.4,code=0.6").
		ID("plan-mix")
	d.String(&n.MixField, "plan-mix-field", "find the keys of --plan-mix in this `FIELD` of an example; a.b for b in a").
		ID("plan-mix-field").DefaultShown("source")
	d.String(&n.IDKey, "plan-id-key", "read the ids in --plan-examples from this `COLUMN`").ID("plan-id-key").DefaultShown("id")
	plugin.Var(d, &n.PassRate, "plan-pass-rate",
		"draw the plan from --plan-examples by pass rates in this `DISTRIBUTION`: normal(0.5,0.2), uniform(0.2,0.8) or beta(2,2)").
		ID("plan-pass-rate").DefaultShown("all pass rates are equal")
	d.Int(&n.ForkPoints, "plan-fork-points", "fork each trajectory at up to `N` points").Min(0).
		ID("plan-fork-points").DefaultShown("1")
}

// Examples are the rows of a task file, from which a plan is drawn; package
// formats/examples reads such files. No id is empty or occurs twice.
type Examples interface {
	Len() int
	At(i int) (formats.Example, error)
}
