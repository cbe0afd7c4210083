package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const (
	reasonMinRewardDiff = "min_reward_diff" // its group's rewards differ too little
	reasonCurriculum    = "curriculum"      // its group is outside the curriculum's share
)

// Curriculum begins with the easiest groups and takes more of them as epochs go by.
//
// The documented behaviour: of the groups whose rewards differ by at least the minimum
// difference, the share with the highest mean reward is kept (the lowest, when ascending),
// rounded up and at least one group. The share is of these surviving groups, so the number
// depends on the data. It begins at Initial and grows by Increment, up to 1, every Interval
// epochs: with an interval of 5, epochs 0 to 4 use the initial share, 5 to 9 the next. Share and
// last expansion are carried from epoch to epoch in the manifest's state, and advance also in an
// epoch that chose nothing; without --previous they are those of a run that began at epoch 0.
// Then, if requested, a random share of the trajectories of each kept group is taken, rounded
// up.
//
// Equal means are ranked by a seeded hash of the group's id, not by position.
//
// NAT's code differs (see nat.go, --compat nat): its first expansion comes one epoch early (with
// an interval of 1 the initial share is never used); an epoch without surviving groups, or with
// a single group, does not expand; a single group is not filtered at all; the subsample is of
// groups, unseeded; the state is never reloaded; and shares are compared and multiplied as
// repeated addition gives them (0.3 + 0.2 + 0.2 + 0.2 is 0.8999999999999999), which can round up
// to one group more or less.
var Curriculum = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: decision.RuleCurriculum,
		Help: "take the easiest groups first, and more of them every few epochs",
		New: func() curate.RuleSettings {
			return &CurriculumSettings{Initial: initial, Increment: increment, Interval: interval, MinRewardDiff: 0.1}
		}},
	Reasons: []string{reasonMinRewardDiff, reasonCurriculum, reasonSubsample},
	More:    []string{reasonMinRewardDiff},
	Seeded:  true,
}

// Defaults of Settings.
const (
	initial   = 0.3
	increment = 0.2
	interval  = 5
)

// CurriculumSettings are the rule's settings.
type CurriculumSettings struct {
	Enabled         bool     // false: the rule does not run
	Initial         float64  // share of groups at first, in (0, 1]; 0 is the default
	Increment       float64  // added at each expansion, in (0, 1]; 0 is the default
	Interval        int      // epochs between expansions, at least 1; 0 is the default
	Ascending       bool     // lowest mean reward first instead of highest
	MinRewardDiff   float64  // groups with a smaller spread are dropped
	RandomSubsample *float64 // share of trajectories kept of each chosen group, in (0, 1]; nil keeps all
}

// Declare declares the settings. Identities of datasets hold all of them if the rule ran.
func (s *CurriculumSettings) Declare(d *plugin.Declarer) {
	d.Bool(&s.Enabled, "curriculum", "train on a share of the groups that grows").Common()
	d.Float(&s.Initial, "curriculum-initial", "begin with this `SHARE` of the groups").IDAlways("curriculum.initial")
	d.Float(&s.Increment, "curriculum-increment", "add this `SHARE` at each expansion").IDAlways("curriculum.increment")
	d.Int(&s.Interval, "curriculum-interval", "expand every `N` epochs").IDAlways("curriculum.interval")
	d.Bool(&s.Ascending, "curriculum-ascending", "take the lowest mean reward first, instead of the highest").
		IDAlways("curriculum.ascending")
	d.Float(&s.MinRewardDiff, "min-reward-diff", "drop groups whose rewards differ by less than `X`; with --curriculum").
		IDAlways("curriculum.min-reward-diff")
	d.OptionalFloat(&s.RandomSubsample, "random-subsample",
		"keep a random `SHARE` of the trajectories of each chosen group; with --curriculum").
		IDAlways("curriculum.random-subsample")
}

// Rule makes the rule.
func (s *CurriculumSettings) Rule(set curate.Setup) (curate.Rule, error) {
	s = s.filled()
	if err := s.check(); err != nil {
		return curate.Rule{}, err
	}
	if !s.Enabled {
		return curate.Rule{}, nil
	}
	r := curate.Rule{Groups: documented{*s}.groups, Members: documented{*s}.members, Identity: plugin.Identity(s, Curriculum.New())}
	if set.Compat == curate.CompatNAT {
		r.Groups, r.Members = nat{*s}.groups, nat{*s}.members
	}
	return r, nil
}

// filled returns the settings with defaults in place of 0.
func (s *CurriculumSettings) filled() *CurriculumSettings {
	out := *s
	out.Initial, out.Increment, out.Interval = cmp.Or(s.Initial, initial), cmp.Or(s.Increment,
		increment), cmp.Or(s.Interval, interval)
	return &out
}

func (s *CurriculumSettings) check() error {
	share := func(x float64) bool { return x > 0 && x <= 1 }
	switch {
	case !share(s.Initial):
		return curate.Usage("a share is above 0 and at most 1: 0.3 begins with the easiest 30 %",
			"curate: --curriculum-initial %v", s.Initial)
	case !share(s.Increment):
		return curate.Usage("a share is above 0 and at most 1: 0.2 adds 20 % at each expansion",
			"curate: --curriculum-increment %v", s.Increment)
	case s.Interval < 1:
		return curate.Usage("give a number of epochs, at least 1", "curate: --curriculum-interval %d", s.Interval)
	case !(s.MinRewardDiff >= 0) || math.IsInf(s.MinRewardDiff, 0):
		return curate.Usage("give a difference of rewards, 0 or more", "curate: --min-reward-diff %v", s.MinRewardDiff)
	case s.RandomSubsample != nil && !share(*s.RandomSubsample):
		return curate.Usage("a share is above 0 and at most 1", "curate: --random-subsample %v", *s.RandomSubsample)
	}
	return nil
}

// noise is the largest rounding error of sums of decimal fractions.
const noise = 1e-9

type documented struct{ CurriculumSettings }

func (d documented) groups(b curate.Batch, groups *curate.Groups) (any, error) {
	state, err := d.advance(b)
	if err != nil {
		return nil, err
	}
	n, err := survivors(groups, d.MinRewardDiff-noise)
	if err != nil {
		return nil, err
	}
	include(&state, n, ceil(float64(float64(n)*state.Share)-noise))
	return state, cut(&state, groups, func(g *curate.Group) (curate.Rank, bool) {
		return curate.Rank{Value: direction(d.Ascending, g.Mean), Lot: formats.Seed(b.Seed, "curriculum", g.ID)}, true
	})
}

// advance returns the state with the share of this epoch.
func (d documented) advance(b curate.Batch) (decision.CurriculumState, error) {
	s := decision.CurriculumState{Share: d.Initial}
	if err := readCurriculumState(b, &s); err != nil {
		return s, err
	}
	for s.Share < 1 && b.Epoch-s.LastExpansion >= d.Interval {
		s.Share = min(1, math.Round((s.Share+d.Increment)*1e9)/1e9)
		s.LastExpansion += d.Interval
	}
	return s, nil
}

// members keeps a seeded share of the group's trajectories.
func (d documented) members(b curate.Batch, members []formats.Member) []curate.Verdict {
	if d.RandomSubsample == nil {
		return nil
	}
	return sampleMembers(b.Seed, members, max(1, ceil(float64(float64(len(members))**d.RandomSubsample)-noise)))
}

// direction turns mean rewards so that the smallest is to be learned first.
func direction(ascending bool, mean float64) float64 {
	if ascending {
		return mean
	}
	return -mean
}

func readCurriculumState(b curate.Batch, s *decision.CurriculumState) error {
	if b.State == nil {
		return nil
	}
	if err := json.Unmarshal(b.State, s); err != nil {
		return fmt.Errorf("the curriculum's state in --previous: %w", err)
	}
	return nil
}

// survivors refuses groups with a smaller spread and counts the others.
func survivors(groups *curate.Groups, diff float64) (n int, err error) {
	for g, err := range groups.All() {
		switch {
		case err != nil:
			return 0, err
		case g.Valid == 0:
			err = groups.Refuse(g, curate.Verdict{Reason: reasonMinRewardDiff})
		case g.Max-g.Min < diff:
			err = groups.Refuse(g, curate.Verdict{Reason: reasonMinRewardDiff,
				Detail: fmt.Sprintf("spread %.6g", g.Max-g.Min)})
		default:
			n++
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// include records that n of the surviving groups are kept, at least one.
func include(s *decision.CurriculumState, surviving, n int) {
	s.TotalGroups = cmp.Or(s.TotalGroups, surviving)
	s.Surviving, s.Included = surviving, min(max(1, n), surviving)
}

// cut refuses all but the included groups with the highest rank.
func cut(s *decision.CurriculumState, groups *curate.Groups, rank func(*curate.Group) (curate.Rank, bool)) error {
	if s.Included == s.Surviving {
		return nil
	}
	at := 0
	for g, err := range groups.Sorted(rank) {
		if at++; err == nil && at > s.Included {
			err = groups.Refuse(g, curate.Verdict{
				Reason: reasonCurriculum,
				Detail: fmt.Sprintf("rank %d of %d, the first %d are in", at, s.Surviving, s.Included),
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ceil(x float64) int { return int(math.Ceil(x)) }

// sampleMembers keeps so many members, those with the smallest seeds.
func sampleMembers(seed int64, members []formats.Member, keep int) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(members))
	for _, i := range drawn(seed, "subsample", members, false)[min(keep, len(members)):] {
		verdicts[i].Reason = reasonSubsample
	}
	return verdicts
}
