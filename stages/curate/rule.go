package curate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Rule refuses groups or members of groups: it is a GroupRule or a BatchRule,
// a MemberRule or a RowRule, or one of either pair. Rules are pure functions of
// their arguments: the same groups, in any order, the same epoch and state
// give the same verdicts.
type Rule any

// GroupRule judges each group for itself.
type GroupRule interface {
	// Group judges a group that no earlier rule refused. It must not change
	// the group, nor keep it.
	Group(b Batch, g *Group) Verdict
}

// BatchRule judges groups by what other groups there are.
type BatchRule interface {
	// Groups calls groups.Refuse for what it refuses, and returns what it has
	// to say to itself in the next epoch, to be written as JSON; nil for
	// nothing. There may be more groups than fit into memory.
	Groups(b Batch, groups *Groups) (state any, err error)
}

// MemberRule judges single members of the groups that no rule refused.
type MemberRule interface {
	// Members judges the valid members of one group that no earlier rule
	// refused, in the base's order. Nil keeps all.
	Members(b Batch, members []formats.Member) []Verdict
}

// RowRule judges whole trajectories. Rules that refuse members, this and the
// last kind, run in the registry's order.
type RowRule interface {
	// Rows judges members of one group as Members does. It must not change
	// the rows, nor keep them.
	Rows(b Batch, g Group, rows []Row) []Verdict
}

// Row is a member and what the base holds of it.
type Row struct {
	Member     *formats.Member
	Trajectory *formats.Trajectory
}

// ByGeneration orders members of a group as they were asked for.
func ByGeneration(a, b *formats.Member) int {
	return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.TrajectoryID, b.TrajectoryID))
}

// Batch is what a rule knows beside the groups.
type Batch struct {
	Epoch int
	Seed  int64
	Total int             // groups of the epoch before any rule
	State json.RawMessage // what this rule left in --previous; nil for nothing

	Holdout *Holdout // examples that are never trained on; nil for none
}

// Verdict is about one group or member; at zero it is kept.
type Verdict struct {
	Reason string // one of formats.DropReasons, or "" to keep it
	Detail string // for people: the numbers behind it

	rule string // who said so; set by the plan
}

// RuleKind is an entry of the registry of rules.
type RuleKind struct {
	plugin.Kind[RuleSettings]
	Reasons []string // what its verdicts may say
	Again   bool     // it is a GroupRule that judges groups again that lost members
	Last    bool     // groups that lost members by it are not judged again: it takes them apart on purpose
	Seeded  bool     // the seed may change its verdicts

	OfExamples bool // it needs groups of one example each
}

// RuleSettings are what a rule can be told.
type RuleSettings interface {
	plugin.Settings

	// Rule makes the rule, or nil when the settings do not ask for it. An error
	// is of kind usage.
	Rule(s Setup) (Rule, error)
}

// Setup is what curate's own options mean to a rule.
type Setup struct {
	Compat        Compat
	FlatTolerance float64 // relative spread up to which a group is flat
	MinValid      int     // fewest valid members of a group worth training on
}

// TokenReader is an optional power of a Rule that may look at the groups'
// SampledTokens, which older statistics do not have.
type TokenReader interface{ Tokens() bool }

// Holder is an optional power of RuleSettings: trajectories at these URIs are
// held out, and the batch's Holdout knows their examples.
type Holder interface{ HeldOut() []string }

// Identified is an optional power of RuleSettings that are part of the identity
// in another way than plugin.Identity of active rules.
type Identified interface {
	Identity(s Setup) map[string]any
}

// NotNegative refuses whole numbers below 0 among settings; 0 leaves a rule out.
func NotNegative(s plugin.Settings) error {
	for _, x := range plugin.Declared(s) {
		if n, err := strconv.ParseInt(fmt.Sprint(x.Value()), 10, 64); err == nil && n < 0 {
			return Usage("give a number, at least 1; 0 leaves the rule out", "curate: --%s %d", x.Name, n)
		}
	}
	return nil
}

// Rules are all rules, in the order they run, with their settings. plugin.Every
// makes them of a registry.
type Rules = plugin.Each[RuleSettings, RuleKind]

// Registry lists rules in the order they run.
type Registry = plugin.Registry[RuleSettings, RuleKind]
