package curate

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/rollmill/rollmill/formats"
)

// Rule refuses groups. It is a pure function of its arguments: the same
// groups, in any order, the same epoch and state give the same verdicts.
type Rule interface {
	// Groups judges the groups that no earlier rule refused. It must not
	// change the list, nor keep it.
	Groups(b Batch, groups []Group) (Ruling, error)
}

// MemberRule is a Rule that also refuses single members of the groups that
// every rule's Groups kept.
type MemberRule interface {
	Rule
	// Members judges the valid members of one group that no earlier rule
	// refused, in the base's order. Nil keeps all.
	Members(b Batch, members []formats.Member) []Verdict
}

// RowRule is a Rule that looks at whole trajectories. Rules that refuse
// members, this and the last kind, run in the registry's order.
type RowRule interface {
	Rule
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

// EveryGroup is the first half of rules that judge members alone.
type EveryGroup struct{}

// Groups refuses none.
func (EveryGroup) Groups(Batch, []Group) (Ruling, error) { return Ruling{}, nil }

// Batch is what a rule knows beside the groups.
type Batch struct {
	Epoch int
	Seed  int64
	Total int             // groups of the epoch before any rule
	State json.RawMessage // what this rule left in --previous; nil for nothing

	Holdout *Holdout // examples that are never trained on; nil for none
}

// Group is one group as rules see it; the statistics are of its valid members.
type Group struct {
	ID             string
	ExampleID      string // "" for a group of several
	Epoch          int
	FirstRow       int64 // in the base; the others follow unless the set lies scattered
	Count, Valid   int   // members, and those with a reward
	Mean, Min, Max float64
	StdPop, Solved float64 // solved is a share
	Failed         int     // members that failed or were skipped; all without a reward when old statistics do not tell them apart
	SampledTokens  int64   // of valid members; read only when a rule asks for it (Kind.Tokens)
}

// Ruling is what a rule found.
type Ruling struct {
	Verdicts []Verdict // one for each group; nil keeps all
	State    any       // for the next epoch, as JSON; nil for none
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
	Again   bool                        // it looks at each group alone, and runs again on groups that lost members
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
