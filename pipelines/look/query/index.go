// Package query keeps the light columns of one dataset's trajectories in memory, so
// that they can be filtered, sorted and counted without reading the dataset again. It
// also reads single trajectories and groups whole.
//
// An Index has the columns of the wide rows, and for each row the rewards of score,
// the advantages of group and the decisions of curate. It takes about 75 bytes a
// trajectory and 8 more for each named reward, and half as much again while it is
// built; a Cache keeps several within a number of bytes. Rows yields rows with the
// columns that are asked for, First their numbers in an order; both hold a part of the
// columns at a time. There is no HTTP and no HTML here, and no text for a terminal.
//
// Conditions and orders are expressions over a row or a group; most orders are the name
// of a column, which is sorted without evaluating anything. Texts that many rows share
// are numbered, and each column of numbers is a slice. An index has no answers and no
// metadata: an expression about these reads the columns again.
//
// To add a column that can be filtered and sorted by, add it to Row in rows.go, to read.go, to
// Index, to its columns, and to expression.Row.
package query

import (
	"math"

	"github.com/rollmill/rollmill/pipelines/look/kept"
)

// Index has the light columns of the trajectories of a dataset, by row. It is safe for
// concurrent use.
type Index struct {
	From *Sources
	Rows uint32

	ids         ids
	groups      words // ids; the numbers are those of Groups
	examples    words
	run         words
	status      words
	stop        words
	failure     words
	model       words
	epoch       coded[int64]
	generation  coded[int64]
	policy      coded[int64] // -1: unknown
	reward      []float64    // NaN: null
	unscored    words        // why the reward is null, if a scores dataset says so
	components  []component
	advantage   []float64 // NaN: null
	noAdvantage words     // why it is null, if a group dataset says so
	prompt      []int32
	completion  []int32
	sampled     []int32
	drop        words    // decided: "" not, kept, or the reason
	decisionRow []uint32 // in Decisions; nil: the same row
	unnamed     bool     // the row before is in the group of its example
	solvedFrom  float64  // the reward that counts as solved
	members     []uint32 // rows by group
	firstMember []uint32 // of each group in members, and the end

	columns map[string]*column     // that need no expression
	orders  *kept.Values[[]uint32] // of rows, by column
	finds   *kept.Values[found]    // by condition
}

// component is a named reward.
type component struct {
	name   string
	values []float64 // NaN: null
	cuts   []float64 // where the bands of its facet begin, after that of null
	bands  []string  // their names
}

// Kept is the decision about a trajectory that curate kept. Any other is the reason
// why it was dropped; "" means that no decision is known.
const Kept = "kept"

// Trajectory is what an index knows of one.
type Trajectory struct {
	Row                         uint32
	ID, Group, Example          string
	Generation                  int32
	Status, Stop, Failure       string
	Reward, Advantage           float64 // NaN: null
	Unscored, NoAdvantage       string  // why the reward, the advantage is null
	Components                  []Component
	PromptTokens, SampledTokens int32
	Decision                    string // Kept, a reason, or "" for none
}

// Component is a named reward of a trajectory. Its value is NaN when it is null.
type Component struct {
	Name  string
	Value float64
}

// At returns the columns of a row.
func (x *Index) At(row uint32) Trajectory {
	t := Trajectory{
		Row: row, ID: x.ids.of(row), Group: x.groups.of(row), Example: x.examples.of(row),
		Generation: int32(x.generation.of(row)), Status: x.status.of(row), Stop: x.stop.of(row), Failure: x.failure.of(row),
		Reward: x.reward[row], Advantage: x.advantage[row], Unscored: x.unscored.of(row),
		NoAdvantage: x.noAdvantage.of(row), PromptTokens: x.prompt[row], SampledTokens: x.sampled[row],
		Decision: x.drop.of(row),
	}
	for _, c := range x.components {
		t.Components = append(t.Components, Component{c.name, c.values[row]})
	}
	return t
}

// Find returns the row of a trajectory, or false.
func (x *Index) Find(id string) (uint32, bool) {
	row := x.ids.find(id)
	return uint32(max(row, 0)), row >= 0
}

// Members returns the rows of a group, in order, or nil. They are the index's.
func (x *Index) Members(group string) []uint32 {
	if n, ok := x.GroupOf(group); ok {
		return x.membersOf(n)
	}
	return nil
}

// First returns the first row of a group, by its number.
func (x *Index) First(group uint32) uint32 { return x.members[x.firstMember[group]] }

func (x *Index) membersOf(group uint32) []uint32 {
	return x.members[x.firstMember[group]:x.firstMember[group+1]]
}

// Components returns the names of the named rewards.
func (x *Index) Components() []string {
	var names []string
	for _, c := range x.components {
		names = append(names, c.name)
	}
	return names
}

// Decided reports whether there are decisions of curate.
func (x *Index) Decided() bool { return x.From.Decisions != nil }

// texts returns the columns of texts.
func (x *Index) texts() map[string]*words {
	return map[string]*words{"group_id": &x.groups, "example_id": &x.examples, "run": &x.run, "status": &x.status,
		"stop_reason": &x.stop, "failure_class": &x.failure, "model": &x.model, "unscored": &x.unscored,
		"no_advantage": &x.noAdvantage, "decision": &x.drop}
}

// Bytes returns the memory of the columns, and of the orders that it remembers.
func (x *Index) Bytes() int64 {
	total := x.ids.bytes() + int64(x.Rows)*(8+8+3*4) + 8*int64(x.Rows)*int64(len(x.components)) +
		4*int64(len(x.decisionRow)+len(x.members)+len(x.firstMember))
	for _, w := range x.texts() {
		total += w.bytes()
	}
	x.orders.Each(func(order []uint32) { total += 4 * int64(len(order)) })
	return total + x.epoch.bytes() + x.generation.bytes() + x.policy.bytes()
}

// number returns a nullable number, NaN for null.
func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
