package curate

import (
	"cmp"
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/heldout"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Rule refuses groups, by Group or by Groups, or members of groups, by Members or by Rows,
// or both. At zero it does not run. Its functions are pure: the same groups, in any order,
// with the same epoch and state give the same verdicts.
type Rule struct {
	// Group judges a group by itself that no earlier rule refused. It must neither change
	// nor keep the group.
	Group func(b Batch, g *Group) Verdict

	// Groups judges groups in relation to the other groups: it calls groups.Refuse for those
	// that it refuses, and returns its state for the next epoch, to be written as JSON; nil
	// for none. There may be more groups than fit into memory. Groups of forks are kept
	// unseen, unless RuleKind.Forks is set: they are no attempts at an example.
	Groups func(b Batch, groups *Groups) (state any, err error)

	// Members judges the valid members of a group that no rule of groups refused, and no
	// earlier rule of members, in the base's order. Nil keeps all.
	Members func(b Batch, members []formats.Member) []Verdict

	// Rows judges members of one group as Members does, by their whole rows. It must neither
	// change nor keep the rows.
	Rows func(b Batch, g Group, rows []Row) []Verdict

	Absent func() []string // once all rows were judged: what the rule read of them and none had, as notes

	Tokens   bool             // it reads the groups' SampledTokens, which older statistics lack
	HeldOut  *heldout.Options // what the batch's Holdout has; only one rule may have it
	Identity map[string]any   // of a rule that does not run, too; nil: plugin.Identity of the settings of one that runs
}

// runs reports whether the settings ask for the rule.
func (r *Rule) runs() bool {
	return r.Group != nil || r.Groups != nil || r.Members != nil || r.Rows != nil
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

	Holdout *heldout.Set // what is never trained on; nil for nothing
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
	Again   bool     // Rule.Group judges groups again after they lost members
	Last    bool     // groups that lost members by it are not judged again: it splits them on purpose
	Seeded  bool     // the seed may change its verdicts

	OfExamples bool // requires groups of one example each
	Forks      bool // Rule.Groups is shown groups of forks too; other rules neither see nor count them
}

// RuleSettings are the settings of a rule.
type RuleSettings interface {
	plugin.Settings

	// Rule makes the rule, one that does not run when the settings do not ask for it. An
	// error is of kind usage.
	Rule(s Setup) (Rule, error)
}

// Setup holds the options of curate that matter to a rule.
type Setup struct {
	Compat        Compat
	FlatTolerance float64 // relative spread up to which a group is flat
	MinValid      int     // fewest valid members of a group worth training on
}

// Rules are all rules with their settings, in the order they run. plugin.Every
// makes them from a registry.
type Rules = plugin.Each[RuleSettings, RuleKind]

// Registry lists rules in the order they run.
type Registry = plugin.Registry[RuleSettings, RuleKind]

// active is a rule that the options ask for.
type active struct {
	RuleKind
	Rule
	state json.RawMessage // from the previous epoch
}
