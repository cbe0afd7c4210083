package estimators

import (
	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
)

// GiGPO is group-in-group policy optimisation (arXiv 2505.10978): the trajectory's
// GRPO advantage, and how far a message's return is from those of the group's other
// messages that answered the same.
//
//	none  outcome A + weight (G - mean G) / (population std + 1e-6)
//	verl  the same by sample stds, a message alone with its state by 0
//	      (verl-agent's mean_std_norm; NoScale is its mean_norm)
//
// with A as grpo has it, and the mean and deviation over the messages of the group whose
// state is equal: what was said to the model since its own last message, to the byte, or
// the value of an expression over it (group.NewState). A message that is alone with
// its state has no return of its own. Returns are those of turns.
var GiGPO = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "gigpo", Help: "credit for each message: the group's advantage, and that among answers to the same state",
		New: func() group.EstimatorSettings { return &GiGPOSettings{stepWeights: stepWeights{0.95, 1, 1, ""}} }},
	Compats: []group.Compat{group.CompatNone, group.CompatVerl},
	Scaled:  true,
	ZeroSum: true,
}

// GiGPOSettings are the settings of GiGPO.
type GiGPOSettings struct {
	stepWeights
	State string `json:",omitempty"` // default: all that was said
}

// Declare declares the settings.
func (s *GiGPOSettings) Declare(d *plugin.Declarer) {
	s.declare(d, "gigpo", "the advantage among equal states")
	d.String(&s.State, "gigpo-state", "tell states apart by the value of `EXPRESSION` over messages: what came since the model's own last one, "+
		"each with role, name, content and content_parts").DefaultShown("all of it").ID("gigpo.state")
}

// Estimator makes the estimator.
func (s *GiGPOSettings) Estimator(setup group.Setup) (group.Estimator, error) {
	e, err := grpo(setup), s.check("gigpo")
	e.Steps, e.Looks = gigpo{s.stepWeights, setup}.steps, group.Looks{States: true, Signals: s.Signal != ""}
	if err == nil && s.State != "" {
		e.Looks.State, err = group.NewState("--gigpo-state", s.State)
	}
	return e, err
}

type gigpo struct {
	stepWeights
	setup group.Setup
}

func (e gigpo) steps(of *group.Valid, steps [][]group.Step, out [][]group.Credit) error {
	type place struct {
		value float64
		out   *float64
	}
	states := map[xxh3.Uint128][]place{}
	all, err := e.returns(steps)
	for i := range all {
		for k, r := range all[i] {
			states[steps[i][k].State] = append(states[steps[i][k].State], place{r, &out[i][k].Value})
		}
	}
	for _, places := range states {
		values := make([]float64, len(places))
		for n := range places {
			values[n] = places[n].value
		}
		v := group.Valid{Tolerance: of.Tolerance}
		v.Set(values)
		std := v.StdPop
		if e.setup.Compat == group.CompatVerl {
			std = v.StdSample
		}
		for _, p := range places {
			*p.out = e.add(*p.out, &v, p.value, std, e.setup.NoScale)
		}
	}
	return err
}
