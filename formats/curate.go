package formats

import (
	"encoding/json"
	"math"
)

// DropReasons is the closed list of why curate drops a trajectory (column
// reason of _decisions, key of a curated manifest's drops).
var DropReasons = []string{DropFailed, DropUnscored, DropMinValid, DropFlat, DropMinRewardDiff, DropCurriculum, DropSubsample,
	DropLeak, DropStale, DropLogprobs, DropLength, DropFewMessages, DropDuplicate, DropFilter, DropTokenBudget, DropBestOf, DropLimit,
	DropNearDuplicate, DropPool, DropSplit}

// Why a trajectory is not trained on. The first two concern the trajectory
// itself, the others its group, but for subsample.
const (
	DropFailed        = "failed"          // it failed or was skipped
	DropUnscored      = "unscored"        // its reward is null
	DropMinValid      = "min_valid"       // its group has too few valid members
	DropFlat          = "flat"            // its group's rewards are all the same
	DropMinRewardDiff = "min_reward_diff" // its group's rewards differ too little for the curriculum
	DropCurriculum    = "curriculum"      // its group is outside the curriculum's share
	DropSubsample     = "subsample"       // a seeded random choice left it out

	DropLeak        = "leak"         // its example is held out too
	DropStale       = "stale"        // too old a policy sampled it
	DropLogprobs    = "logprobs"     // its log probabilities cannot be trained on
	DropLength      = "length"       // it is too long
	DropFewMessages = "few_messages" // it has too few messages
	DropDuplicate   = "duplicate"    // another member of its group says the same
	DropFilter      = "filter"       // an expression is false of it
	DropTokenBudget = "token_budget" // the budget was spent on other groups
	DropBestOf      = "best_of"      // enough members of its group are better
	DropLimit       = "limit"        // enough members of its group, or groups of its example, were taken

	DropNearDuplicate = "near_duplicate" // another member of its group says nearly the same
	DropPool          = "pool"           // its example was lately solved always or never, and chance left it out
	DropSplit         = "split"          // its example is on another side of the split
)

// FlatTolerance is the relative spread up to which a group is flat, unless an
// option says otherwise.
const FlatTolerance = 1e-12

// Flat tells whether rewards between min and max are the same but for
// rounding: their spread is at most tolerance times the larger of 1 and the
// largest magnitude. An exact test would take the noise of a weighted sum for
// a difference, and an advantage would blow it up.
func Flat(min, max, tolerance float64) bool {
	if min == max {
		return true
	}
	scale := math.Max(1, math.Max(math.Abs(min), math.Abs(max)))
	return max/scale-min/scale <= tolerance
}

// CurateState is the state in a curated dataset's manifest: what the next
// epoch's --previous hands on.
type CurateState struct {
	Epoch  int                        `json:"epoch"`
	Compat string                     `json:"compat"`
	Rules  map[string]json.RawMessage `json:"rules,omitempty"` // by the rule's name
	Order  []string                   `json:"order,omitempty"` // the rules that were asked for, as they ran; drops say what each refused

	Recomputed bool        `json:"recomputed,omitempty"` // advantages are those of the members that are left
	Advantages *GroupState `json:"advantages,omitempty"` // of this dataset; a batch step is done, a whitening is the trainer's
}

// RulePools is the difficulty pools' name in CurateState.Rules.
const RulePools = "pools"

// PoolsState is what the difficulty pools carry from epoch to epoch: the ids
// of the examples that were solved always and never, sorted. The others are
// normal.
type PoolsState struct {
	Epoch int      `json:"epoch"` // the last whose groups moved examples
	Easy  []string `json:"easy,omitempty"`
	Hard  []string `json:"hard,omitempty"`
}

// RuleCurriculum is the curriculum's name in CurateState.Rules.
const RuleCurriculum = "curriculum"

// CurriculumState is what the curriculum carries from epoch to epoch.
type CurriculumState struct {
	Share         float64 `json:"share"`                // of the surviving groups, in this epoch
	LastExpansion int     `json:"last_expansion_epoch"` // -1: never (NAT's beginning)
	TotalGroups   int     `json:"total_groups"`         // surviving groups of the first epoch that had any
	Surviving     int     `json:"surviving_groups"`     // groups with enough spread, in this epoch
	Included      int     `json:"included_groups"`      // of them, inside the share
}
