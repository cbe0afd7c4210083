package group

import (
	"github.com/rollmill/rollmill/stages/group/pairs"
)

// Compares reports whether a trajectory that is alone in its group has no effect on training,
// because the estimator compares the attempts at one example with each other. Groups of another
// kind (By), labels, and pairs of candidates do not depend on how often an example is attempted.
func (o Options) Compares() bool {
	candidates := o.Pairs.Mode != "" && (o.Pairs.From == pairs.Candidates || o.Pairs.From == "" && o.Compat == CompatNAT)
	if o.By != "" && o.By != byExample || o.Labels || candidates {
		return false
	}
	e, err := o.estimator()
	if err != nil {
		return false // Validate reports why
	}
	var v Valid
	v.Set([]float64{1})
	v.Lengths = []Length{{SampledTokens: 1}}
	out := []float64{0}
	has := false
	if e.Components != nil {
		has = e.Components([]Component{{Name: "reward", Weight: 1, Values: v.Rewards, Valid: v}}, out)
	} else {
		has = e.Advantages(&v, out)
	}
	return !has || out[0] == 0
}
