package estimators_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

// Every estimator that is registered holds what all must, under every compat
// and scale that it knows.
func TestRegistered(t *testing.T) {
	for _, k := range estimators.All.All() {
		t.Run(k.Name, func(t *testing.T) { estimatortest.Run(t, k) })
	}
}

// TestWhichSumToZero lists what does not say that the advantages of a group of
// two or more sum to zero; all else is held to it (estimatortest). NeMo-RL
// divides each member by the deviation of the others, pass@k rewards the best
// alone, and of GDPO's sum each reward may be that of other members.
func TestWhichSumToZero(t *testing.T) {
	got := map[string]string{}
	for _, k := range estimators.All.All() {
		for _, compat := range group.Compats {
			for _, noScale := range []bool{false, true} {
				e, err := k.New().Estimator(group.Setup{Compat: compat, NoScale: noScale})
				if err != nil {
					continue
				}
				if u, ok := e.(group.Uneven); k.ZeroSum && !(ok && u.Uneven()) {
					continue
				}
				got[k.Name] += fmt.Sprintf(" %s", compat)
				if noScale {
					got[k.Name] += "/no-scale"
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
