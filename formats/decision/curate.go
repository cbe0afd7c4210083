package decision

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats/training"
)

// Reasons for which curate drops a trajectory before any rule (column reason of
// _decisions, key of a curated manifest's drops). Every other reason is declared by
// the rule that gives it, and every dataset may contain it for ever: curate.Reasons
// lists all.
const (
	DropFailed   = "failed"   // it failed or was skipped
	DropUnscored = "unscored" // its reward is null
)

// CurateState is the state in a curated dataset's manifest, which the next
// epoch reads with --previous.
type CurateState struct {
	Epoch  int                        `json:"epoch"`
	Compat string                     `json:"compat"`
	Rules  map[string]json.RawMessage `json:"rules,omitempty"` // by the rule's name
	// the rules that were requested, in the order they ran; drops has what each refused
	Order []string `json:"order,omitempty"`

	Recomputed bool `json:"recomputed,omitempty"` // advantages were computed again from the remaining members
	// of this dataset; a batch step is done, a whitening is left to the trainer
	Advantages *training.GroupState `json:"advantages,omitempty"`
}

// RulePools is the key of the difficulty pools in CurateState.Rules.
const RulePools = "pools"

// PoolsState is the state that the difficulty pools keep from epoch to epoch:
// the sorted ids of the examples that were always solved and of those that were
// never solved. All others are normal.
type PoolsState struct {
	Epoch int      `json:"epoch"` // the last one whose groups moved examples
	Easy  []string `json:"easy,omitempty"`
	Hard  []string `json:"hard,omitempty"`
}

// RuleCurriculum is the key of the curriculum in CurateState.Rules.
const RuleCurriculum = "curriculum"

// CurriculumState is the state that the curriculum keeps from epoch to epoch.
type CurriculumState struct {
	Share         float64 `json:"share"`                // of the surviving groups, in this epoch
	LastExpansion int     `json:"last_expansion_epoch"` // -1: never (as NAT starts)
	TotalGroups   int     `json:"total_groups"`         // surviving groups of the first epoch that had any
	Surviving     int     `json:"surviving_groups"`     // groups with enough spread, in this epoch
	Included      int     `json:"included_groups"`      // of these, inside the share
}

// Planned is a row of _plan: an example that should get more generations, and
// the statistics of its group in curate.
type Planned struct {
	ExampleID   string   `parquet:"example_id"`
	GroupID     string   `parquet:"group_id"`
	Epoch       int32    `parquet:"epoch,delta"`
	Generations int32    `parquet:"generations,delta"`
	First       int32    `parquet:"first_generation,delta"`
	ForkedFrom  string   `parquet:"forked_from,optional"` // the generations are forks
	ForkCall    *int32   `parquet:"fork_call,optional"`
	Reason      string   `parquet:"reason,dict"`
	Count       int32    `parquet:"count,delta"`
	Valid       int32    `parquet:"valid,delta"`
	Failed      int32    `parquet:"failed,delta"`
	Solved      *float64 `parquet:"solved,optional"`
	StdPop      *float64 `parquet:"std_pop,optional"`
}

// PlanReasons is the closed list of reasons for which an example should get
// more generations (column reason of _plan), the most urgent first.
var PlanReasons = []string{PlanFailed, PlanFew, PlanFlat, PlanVaried, PlanDrawn, PlanFork}

const (
	PlanFailed = "failed" // members failed or were skipped: replacements
	PlanFew    = "few"    // fewer were made than a group should have
	PlanFlat   = "flat"   // nothing in it trains, but not because all members solved it
	PlanVaried = "varied" // the rewards differ much, and the budget has room
	PlanDrawn  = "drawn"  // by its share of a mix and its pass rate
	PlanFork   = "fork"   // continuations of a prefix
)

// ExampleStats is a row of _examples: what the attempts at one example by one policy version
// gave in all epochs so far. Forks are no attempts.
type ExampleStats struct {
	ExampleID        string   `parquet:"example_id"`
	PolicyVersion    *int64   `parquet:"policy_version,optional"`
	Attempts         int32    `parquet:"attempts,delta"` // without those that were skipped
	Failed           int32    `parquet:"failed,delta"`
	Scored           int32    `parquet:"scored,delta"`
	Passes           int32    `parquet:"passes,delta"` // scored, with a reward at or above the solved threshold
	Mean             *float64 `parquet:"mean,optional"`
	StdPop           *float64 `parquet:"std_pop,optional"`
	PromptTokens     int64    `parquet:"prompt_tokens,delta"`
	CompletionTokens int64    `parquet:"completion_tokens,delta"`
	LastEpoch        int32    `parquet:"last_epoch,delta"`
}

// Decision is a row of _decisions: what curate did with one input trajectory.
type Decision struct {
	TrajectoryID string `parquet:"trajectory_id"`
	ExampleID    string `parquet:"example_id,dict"`
	GroupID      string `parquet:"group_id,dict"`
	Epoch        int32  `parquet:"epoch,delta"`
	Generation   int32  `parquet:"generation,delta"`
	Kept         bool   `parquet:"kept"`
	Reason       string `parquet:"reason,optional,dict"` // the first rule that refused it; null when kept
	Detail       string `parquet:"detail,optional"`
}
