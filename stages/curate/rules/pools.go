package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonPool = "pool" // its example was recently always or never solved, and a random choice excluded it

// Pools takes fewer of the examples that the policy has recently always or never solved. Each
// example is in one of three pools, by its last group: easy if the share of its valid members
// that solved it was at least EasyFrom, hard if it was at most HardTo, normal otherwise or if it
// is new. A group of the easy or the hard pool is trained on with the probability of its pool's
// share, drawn again each epoch from the seed and the group's id; groups of the normal pool
// always are. Then every group that was judged moves its example, kept or not, so an example
// leaves a pool as soon as the policy's success with it changes; but groups of older epochs,
// trained on again, do not move an example that was moved since.
//
// The pools are carried from epoch to epoch in the manifest's state (--previous); the same epoch
// with the same state gives the same rows, so a run resumes exactly. An example without valid
// members stays in its pool. The idea of weighted pools, apart from the gate that refuses flat
// groups, is prime-rl's; there the weights choose prompts, here they choose groups.
var Pools = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: decision.RulePools,
		Help: "take fewer groups of examples that were always or never solved when last rolled out",
		New:  func() curate.RuleSettings { return &PoolsSettings{EasyFrom: 1, EasyShare: 0.25, HardShare: 0.25} }},
	Reasons: []string{reasonPool},
	Seeded:  true,

	OfExamples: true,
}

// PoolsSettings are the rule's settings. Their JSON is part of the identity.
type PoolsSettings struct {
	Enabled   bool    `json:"-"`          // false: the rule does not run
	EasyFrom  float64 `json:"easy-from"`  // solved share from which an example is easy, in (0, 1]
	HardTo    float64 `json:"hard-to"`    // solved share up to which it is hard, in [0, EasyFrom)
	EasyShare float64 `json:"easy-share"` // of easy examples' groups that is taken, in [0, 1]
	HardShare float64 `json:"hard-share"` // of hard examples' groups
}

// Declare declares the settings.
func (s *PoolsSettings) Declare(d *plugin.Declarer) {
	d.Bool(&s.Enabled, "pools", "take fewer groups of examples that were always or never solved when last rolled out")
	d.Float(&s.EasyFrom, "pool-easy-from", "treat an example as easy from this `SHARE` of solved members; with --pools")
	d.Float(&s.HardTo, "pool-hard-to",
		"treat an example as hard up to this `SHARE` of solved members; with --pools").DefaultShown("0")
	d.Float(&s.EasyShare, "pool-easy-share", "take this `SHARE` of easy examples' groups; with --pools")
	d.Float(&s.HardShare, "pool-hard-share", "take this `SHARE` of hard examples' groups; with --pools")
}

// Rule makes the rule.
func (s *PoolsSettings) Rule(curate.Setup) (curate.Rule, error) {
	if !s.Enabled {
		if changed := plugin.Changed(s, Pools.New()); len(changed) > 0 {
			return curate.Rule{}, curate.Usage("give --pools too", "curate: --%s without --pools", changed[0])
		}
		return curate.Rule{}, nil
	}
	for _, x := range plugin.Declared(s) {
		if share, ok := x.Value().(float64); ok && !(share >= 0 && share <= 1) {
			return curate.Rule{}, curate.Usage("give a share from 0 to 1", "curate: --%s %v", x.Name, share)
		}
	}
	if s.HardTo >= s.EasyFrom {
		return curate.Rule{}, curate.Usage("hard is below easy", "curate: --pool-hard-to %v is not below --pool-easy-from %v",
			s.HardTo, s.EasyFrom)
	}
	return curate.Rule{Groups: poolsRule(*s).groups, Identity: map[string]any{"pools": s}}, nil
}

type poolsRule PoolsSettings

func (r poolsRule) groups(b curate.Batch, groups *curate.Groups) (any, error) {
	was, until, err := readPoolsState(b.State)
	if err != nil {
		return nil, err
	}
	state, err := r.move(was, until, groups)
	if err != nil {
		return nil, err
	}
	for g, err := range groups.All() {
		if err == nil {
			if v := r.admit(b.Seed, g, was[g.ExampleID]); v.Reason != "" {
				err = groups.Refuse(g, v)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return state, nil
}

type pool string

const (
	normal pool = "" // examples that are not listed
	easy   pool = "easy"
	hard   pool = "hard"
)

// admit draws whether a group of a pool is trained on.
func (r poolsRule) admit(seed int64, g *curate.Group, in pool) curate.Verdict {
	share := 1.0
	switch in {
	case easy:
		share = r.EasyShare
	case hard:
		share = r.HardShare
	}
	if share == 1 || float64(formats.Seed(seed, "pool", g.ID))/math.MaxInt64 < share {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: reasonPool, Detail: fmt.Sprintf("it was %s; a share of %g is taken", in, share)}
}

// move puts every example into the pool of its newest group. Groups up to the
// epoch until were seen before, unless the epochs do not continue.
func (r poolsRule) move(was map[string]pool, until int, groups *curate.Groups) (s decision.PoolsState, err error) {
	last := -1
	for g, err := range groups.All() {
		if err != nil {
			return s, err
		}
		last = max(last, g.Epoch)
	}
	now := maps.Clone(was)
	for g, err := range groups.Sorted(func(g *curate.Group) (curate.Rank, bool) {
		seen := g.Epoch <= until && g.Epoch < last
		return curate.Rank{Text: g.ExampleID, Value: float64(g.Epoch)}, g.Valid > 0 && !seen
	}) {
		if err != nil {
			return s, err
		}
		if in := r.of(g); in != normal { // the last one decides
			now[g.ExampleID] = in
		} else {
			delete(now, g.ExampleID)
		}
	}
	s.Epoch = max(until, last)
	for id, in := range now {
		if in == easy {
			s.Easy = append(s.Easy, id)
		} else {
			s.Hard = append(s.Hard, id)
		}
	}
	slices.Sort(s.Easy)
	slices.Sort(s.Hard)
	return s, nil
}

func (r poolsRule) of(g *curate.Group) pool {
	switch {
	case g.Solved >= r.EasyFrom:
		return easy
	case g.Solved <= r.HardTo:
		return hard
	}
	return normal
}

// readPoolsState reads the state of the previous epoch, if any, and the last epoch in it.
func readPoolsState(data json.RawMessage) (was map[string]pool, until int, err error) {
	out := map[string]pool{}
	if data == nil {
		return out, -1, nil
	}
	var s decision.PoolsState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, 0, fmt.Errorf("the pools' state in --previous: %w", err)
	}
	for _, id := range s.Easy {
		out[id] = easy
	}
	for _, id := range s.Hard {
		out[id] = hard
	}
	return out, s.Epoch, nil
}
