package formats

import (
	"encoding/json"
	"math"
)

// Reasons for which curate drops a trajectory before any rule (column reason of
// _decisions, key of a curated manifest's drops). Every other reason is declared by
// the rule that gives it, and every dataset may contain it for ever: curate.Reasons
// lists all.
const (
	DropFailed   = "failed"   // it failed or was skipped
	DropUnscored = "unscored" // its reward is null
)

// FlatTolerance is the relative spread up to which a group is flat, unless an
// option says otherwise.
const FlatTolerance = 1e-12

// Flat reports whether rewards between min and max are equal up to rounding:
// their spread is at most tolerance times the larger of 1 and the largest
// magnitude. An exact test would treat the rounding noise of a weighted sum as
// a difference, and dividing by that would give huge advantages.
func Flat(min, max, tolerance float64) bool {
	if min == max {
		return true
	}
	scale := math.Max(1, math.Max(math.Abs(min), math.Abs(max)))
	return max/scale-min/scale <= tolerance
}

// AdvantageTolerance is the share of a batch's largest advantage up to which one counts as 0:
// what rounding leaves of equal rewards.
const AdvantageTolerance = 1e-9

// AdvantageSize is how large the advantages are that would train of some trajectories.
type AdvantageSize struct {
	Min, Max float64 // of trajectories; both 0 without any
	Sum      float64 // of trajectories
	Own      bool    // there are any of trajectories
	Parts    float64 // the largest magnitude of messages and tokens
	Loss     bool    // a message has a loss that no advantage multiplies
}

// Add adds a trajectory.
func (s *AdvantageSize) Add(own *float64, messages []MessageAdvantage, losses []MessageLoss) {
	if own != nil {
		if !s.Own {
			s.Min, s.Max, s.Own = *own, *own, true
		}
		s.Min, s.Max, s.Sum = min(s.Min, *own), max(s.Max, *own), s.Sum+*own
	}
	for i := range messages {
		if messages[i].Tokens == nil {
			s.Parts = max(s.Parts, math.Abs(messages[i].Value))
		}
		for _, a := range messages[i].Tokens {
			s.Parts = max(s.Parts, math.Abs(float64(a)))
		}
	}
	for i := range losses {
		s.Loss = s.Loss || losses[i].Loss != LossRL
	}
}

// After returns the largest magnitude, when a batch's step has changed those of trajectories.
func (s *AdvantageSize) After(shift, divisor float64) float64 {
	if !s.Own {
		return s.Parts
	}
	return max(s.Parts, math.Abs((s.Min-shift)/divisor), math.Abs((s.Max-shift)/divisor))
}

// Any reports whether there is anything that could train.
func (s *AdvantageSize) Any() bool { return s.Own || s.Parts > 0 || s.Loss }

// Training says whether training gets anything from trajectories.
type Training int32

// The values are by the advantages that are handed over, which are at most AdvantageTolerance of
// the batch's largest, or not. Of several trajectories the largest value holds.
const (
	TrainsByRewards Training = iota // there are none in the batch: nothing trains if rewards are equal (Flat)
	NoAdvantages                    // of these, as of one that was alone
	TrainsNothing
	TrainsSomething
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
	Advantages *GroupState `json:"advantages,omitempty"`
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
