package all_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/algorithms/algorithmtest"
	"github.com/rollmill/rollmill/stages/group/algorithms/all"
)

// Every estimator that is registered holds what all must, under every compat
// and scale that it knows.
func TestRegistered(t *testing.T) {
	for _, e := range all.Algorithms {
		t.Run(e.Name, func(t *testing.T) { algorithmtest.Run(t, e) })
	}
}

// TestWhichSumToZero lists what does not say that the advantages of a group of
// two or more sum to zero; all else is held to it (algorithmtest). NeMo-RL
// divides each member by the deviation of the others, pass@k rewards the best
// alone, and of GDPO's sum each reward may be that of other members.
func TestWhichSumToZero(t *testing.T) {
	got := map[string]string{}
	for _, e := range all.Algorithms {
		for _, compat := range group.Compats {
			for _, noScale := range []bool{false, true} {
				a, err := e.New(group.Settings{Compat: compat, NoScale: noScale})
				if err != nil {
					continue
				}
				if u, ok := a.(group.Uneven); e.ZeroSum && !(ok && u.Uneven()) {
					continue
				}
				got[e.Name] += fmt.Sprintf(" %s", compat)
				if noScale {
					got[e.Name] += "/no-scale"
				}
			}
		}
	}
	want := map[string]string{
		"gdpo":  " none trl verl nemo-rl",
		"grpo":  " nemo-rl",
		"passk": " none none/no-scale verl verl/no-scale",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
