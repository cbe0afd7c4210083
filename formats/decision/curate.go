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
