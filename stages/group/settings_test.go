package group_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
	"github.com/rollmill/rollmill/stages/plugin"
)

// above is an estimator with a setting of its own: the advantage is the
// reward's distance from a baseline.
type above struct{ Baseline float64 }

var aboveKind = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "above", Help: "distance from a baseline", New: func() group.EstimatorSettings {
		return &above{Baseline: 0.5}
	}},
	Scaled: true,
}

func (a *above) Declare(d *plugin.Declarer) {
	d.Float(&a.Baseline, "above-baseline", "subtract `X` from each reward").ID("above.baseline")
}

func (a *above) Estimator(group.Setup) (group.Estimator, error) {
	return group.Estimator{Advantages: a.advantages}, nil
}

func (a *above) advantages(v *group.Valid, out []float64) bool {
	for i, r := range v.Rewards {
		out[i] = group.Finite(r - a.Baseline)
	}
	return true
}

func TestEstimatorWithSettings(t *testing.T) {
	t.Run("suite", func(t *testing.T) { estimatortest.Run(t, aboveKind, "none", "none/no-scale") })
	r := plugin.NewRegistry("estimator", aboveKind)
	for text, want := range map[string]struct {
		params, settings string
		advantage        float64
	}{
		"0.5":  {"null", "null", 0.5},
		"0.25": {`{"baseline":0.25}`, `{"Baseline":0.25}`, 0.75},
	} {
		o := options(trajectories(t, "rollout-"+text, [][]example{{{"a", "1 0"}}}), "mem://above/"+text)
		o.Estimator = plugin.Pick(r, "above")
		for _, s := range plugin.Declared(&o) {
			if s.Name == "above-baseline" {
				if err := s.Set(text); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, d := run(t, o)
		if a := readAll[formats.Member](t, d, "")[0].Advantage; a == nil || *a != want.advantage {
			t.Errorf("%s: advantage %v, want %v", text, a, want.advantage)
		}
		params, _ := json.Marshal(d.Params["above"])
		if string(params) != want.params {
			t.Errorf("%s: params %s, want %s", text, params, want.params)
		}
		var state training.GroupState
		if err := json.Unmarshal(d.State, &state); err != nil {
			t.Fatal(err)
		}
		if settings, _ := json.Marshal(state.Settings); string(settings) != want.settings {
			t.Errorf("%s: the state holds settings %s, want %s", text, settings, want.settings)
		}
		again, err := group.Recompute(r, state)
		if err != nil {
			t.Fatal(err)
		}
		members := estimatortest.Members([]float64{1, 0})
		if err := again(members, make([]formats.Trajectory, 2)); err != nil || *members[0].Advantage != want.advantage {
			t.Errorf("%s: computed again: %v, %v", text, *members[0].Advantage, err)
		}
	}
}

// What an estimator needs beside rewards is known when advantages are computed again.
func TestRecomputeAsGrouped(t *testing.T) {
	for _, name := range estimators.All.Names() {
		if slices.Contains(notRecomputed, name) {
			continue
		}
		rows := wide(example{"a", "1 0.5 0 0.25 0.5"}, 0)
		for i := range rows {
			rows[i].SampledTokens = int32(1 + i*i)
		}
		half := 0.5
		o := options(stored(t, "import", rows, 1), "mem://recomputed/"+name)
		o.Estimator, o.SolvedThreshold = plugin.Pick(estimators.All, name), &half
		_, d := run(t, o)
		var state training.GroupState
		if err := json.Unmarshal(d.State, &state); err != nil {
			t.Fatal(err)
		}
		again, err := group.Recompute(estimators.All, state)
		if err != nil {
			t.Fatal(err)
		}
		want := readAll[formats.Member](t, d, "")
		got := readAll[formats.Member](t, d, "")
		for i := range got {
			got[i].Advantage = nil
		}
		if err := again(got, rows); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if *got[i].Advantage != *want[i].Advantage {
				t.Errorf("%s: member %d has %v, and again %v", name, i, *want[i].Advantage, *got[i].Advantage)
			}
		}
	}
}
