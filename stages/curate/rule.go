package curate

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/rollmill/rollmill/formats"
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

// Kind is a kind of rule.
type Kind struct {
	Name    string                      // the key of its state in the manifest
	Help    string                      // a lower-case phrase
	Reasons []string                    // what its verdicts may say
	Again   bool                        // it is a GroupRule that judges groups again that lost members
	Last    bool                        // groups that lost members by it are not judged again: it takes them apart on purpose
	Tokens  func(Options) bool          // it looks at the groups' SampledTokens; nil for never
	New     func(Options) (Rule, error) // of valid options; a nil Rule when they do not ask for it
}

// Registry lists rules in the order they run.
type Registry []Kind

// NewRegistry lists rules; a name given twice is a mistake in the program,
// and panics.
func NewRegistry(kinds ...Kind) Registry {
	seen := map[string]bool{}
	for _, k := range kinds {
		if seen[k.Name] {
			panic(fmt.Sprintf("curate: two rules named %q", k.Name))
		}
		seen[k.Name] = true
	}
	return Registry(kinds)
}
