package curate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Rule refuses groups or members of groups: it is a GroupRule or a BatchRule, a
// MemberRule or a RowRule, or one of either pair. Rules are pure functions of
// their arguments: the same groups, in any order, with the same epoch and state
// give the same verdicts.
type Rule any

// GroupRule judges each group by itself.
type GroupRule interface {
	// Group judges a group that no earlier rule refused. It must neither change
	// nor keep the group.
	Group(b Batch, g *Group) Verdict
}

// BatchRule judges groups in relation to the other groups. Groups of forks are
// kept unseen, unless RuleKind.Forks is set: they are no attempts at an example.
type BatchRule interface {
	// Groups calls groups.Refuse for the groups that it refuses, and returns
	// its state for the next epoch, to be written as JSON; nil for none. There
	// may be more groups than fit into memory.
	Groups(b Batch, groups *Groups) (state any, err error)
}

// MemberRule judges single members of the groups that no rule refused.
type MemberRule interface {
	// Members judges the valid members of one group that no earlier rule
	// refused, in the base's order. Nil keeps all.
	Members(b Batch, members []formats.Member) []Verdict
}

// RowRule judges whole trajectories. Rules that refuse members (MemberRule and
// RowRule) run in the registry's order.
type RowRule interface {
	// Rows judges members of one group as Members does. It must neither change
	// nor keep the rows.
	Rows(b Batch, g Group, rows []Row) []Verdict
}

// Row is a member with its row of the base.
type Row struct {
	Member     *formats.Member
	Trajectory *formats.Trajectory
}

// ByGeneration orders members of a group by generation.
func ByGeneration(a, b *formats.Member) int {
	return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.TrajectoryID, b.TrajectoryID))
}

// Batch is what a rule knows besides the groups.
type Batch struct {
	Epoch int
	Seed  int64
	Total int             // groups of the epoch before any rule, without those of forks
	State json.RawMessage // this rule's state in --previous; nil for none

	Holdout *Holdout // examples that are never trained on; nil for none
}

// Verdict is about one group or member; at zero it is kept.
type Verdict struct {
	Reason string // one of its RuleKind.Reasons, or "" to keep it
	Detail string // for people: the numbers behind it

	rule string // the rule; set by the plan
}

// RuleKind is an entry of the registry of rules.
type RuleKind struct {
	plugin.Kind[RuleSettings]
	Reasons []string // the reasons of its verdicts: stored in datasets, so they are never renamed
	More    []string // those of Reasons that more members of a group may remove: the plan requests them
	Again   bool     // a GroupRule that judges groups again after they lost members
	Last    bool     // groups that lost members by it are not judged again: it splits them on purpose
	Seeded  bool     // the seed may change its verdicts

	OfExamples bool // requires groups of one example each
	Forks      bool // a BatchRule that groups of forks are shown to; others neither see nor count them
}

// RuleSettings are the settings of a rule.
type RuleSettings interface {
	plugin.Settings

	// Rule makes the rule, or nil when the settings do not ask for it. An error
	// is of kind usage.
	Rule(s Setup) (Rule, error)
}

// Setup holds the options of curate that matter to a rule.
type Setup struct {
	Compat        Compat
	FlatTolerance float64 // relative spread up to which a group is flat
	MinValid      int     // fewest valid members of a group worth training on
}

// TokenReader is an optional interface of a Rule that may read the groups'
// SampledTokens, which older statistics lack.
type TokenReader interface{ Tokens() bool }

// Holder is an optional interface of RuleSettings: trajectories at these URIs
// are held out, and the batch's Holdout has their examples.
type Holder interface{ HeldOut() []string }

// Identified is an optional interface of RuleSettings whose part of the
// identity is not plugin.Identity of active rules.
type Identified interface {
	Identity(s Setup) map[string]any
}

// NotNegative refuses negative whole numbers among settings; 0 disables a rule.
func NotNegative(s plugin.Settings) error {
	for _, x := range plugin.Declared(s) {
		if n, err := strconv.ParseInt(fmt.Sprint(x.Value()), 10, 64); err == nil && n < 0 {
			return Usage("give a number, at least 1; 0 leaves the rule out", "curate: --%s %d", x.Name, n)
		}
	}
	return nil
}

// Rules are all rules with their settings, in the order they run. plugin.Every
// makes them from a registry.
type Rules = plugin.Each[RuleSettings, RuleKind]

// Registry lists rules in the order they run.
type Registry = plugin.Registry[RuleSettings, RuleKind]
