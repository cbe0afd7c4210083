package estimators

import (
	"math"

	"github.com/rollmill/rollmill/stages/group"
)

// Tree is Tree-GRPO (arXiv 2509.21240): the GRPO advantage within the group, and that
// within the tree. Both are of whole trajectories: nothing is compared at later branch
// points (AMAP-ML/Tree-GRPO, verl/trainer/ppo/ray_trainer_ts.py, adv_estimator tree).
//
//	none  A of the group + A of the tree; a trajectory alone in its tree has only the first
//	verl  the same as its authors' fork of verl has it; a trajectory alone in its tree has
//	      r / (1 + 1e-6) as the second
//
// with A as grpo has it. Trajectories of a group are in one tree if their messages are
// equal up to the first that was sampled, and with it: group.Beginnings. Forks of one
// prefix have A among themselves alone.
var Tree = group.EstimatorKind{
	Kind:    kind("tree", "the group's advantage, and that among branches of one tree", tree),
	Compats: []group.Compat{group.CompatNone, group.CompatVerl},
	Scaled:  true,
	ZeroSum: true,
}

func tree(s group.Setup) group.Estimator {
	e := grpo(s)
	of := e.Advantages
	e.Advantages = func(v *group.Valid, out []float64) bool { return ofGroupAndTree(of, v, out) }
	e.Parts, e.Uneven, e.Flat, e.Forks = group.Beginnings, s.Compat == group.CompatVerl, true, true
	return e
}

func ofGroupAndTree(of advantages, v *group.Valid, out []float64) bool {
	if v.Forks { // they are branches of one message, and of one tree
		return unlessFlat(of, v, out)
	}
	own := make([]float64, len(out))
	byPart(of, v, own)
	has := unlessFlat(of, v, out)
	for i := range out {
		if !math.IsNaN(own[i]) {
			out[i] = group.Finite(out[i] + own[i])
		}
	}
	return has
}
