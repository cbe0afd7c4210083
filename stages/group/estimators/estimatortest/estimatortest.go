// Package estimatortest tests what every estimator must guarantee, under every
// compat that it knows.
package estimatortest

import (
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
	"pgregory.net/rapid"
)

// Run tests an estimator under every compat and scale that it knows, and two tolerances. The advantages
// of a group of two or more must sum to zero, except under those named by uneven, as
// "none" or "none/no-scale": there the estimator must not declare that they do.
func Run(t *testing.T, k group.EstimatorKind, uneven ...string) {
	if k.Name == "" || k.Help == "" {
		t.Error("an estimator has a name and a help phrase")
	}
	plugintest.Settings(t, func() plugin.Settings { return k.New() })
	if _, err := k.Make(k.New(), group.Setup{Compat: "no such trainer"}); err == nil {
		t.Error("an unknown compat is accepted")
	}
	var declared []string
	for _, compat := range group.Compats {
		for _, noScale := range []bool{false, true} {
			name, s := string(compat), group.Setup{Compat: compat, NoScale: noScale, Solved: 0.25, Tolerance: training.FlatTolerance}
			if noScale {
				name, s.Tolerance = name+"/no-scale", 0.125
			}
			e, err := k.Make(k.New(), s)
			if err != nil {
				continue // it does not know this compat
			}
			if !k.ZeroSum || e.Uneven {
				declared = append(declared, name)
			}
			t.Run(name, func(t *testing.T) { suite{k, s, e}.run(t) })
		}
	}
	if !slices.Equal(declared, uneven) {
		t.Errorf("advantages need not sum to zero under %v, the test says %v", declared, uneven)
	}
}

func (s suite) run(t *testing.T) {
	t.Run("finite", func(t *testing.T) { rapid.Check(t, s.finite) })
	if s.estimator.Baselines == nil {
		t.Run("order does not matter", func(t *testing.T) { rapid.Check(t, s.order) })
	}
	t.Run("failures are excluded", func(t *testing.T) { rapid.Check(t, s.failures) })
	t.Run("rewards are left alone", func(t *testing.T) { rapid.Check(t, s.pure) })
	if s.ZeroSum && !s.estimator.Uneven {
		t.Run("sums to zero", func(t *testing.T) { rapid.Check(t, s.zeroSum) })
	}
}

func (s suite) pure(t *rapid.T) {
	r := rewards().Draw(t, "group")
	was := append([]float64(nil), r...)
	lengths := Lengths(len(r)).Draw(t, "lengths")
	a, b := s.credits(t, Members(r), lengths), s.credits(t, Members(r), lengths)
	if !slices.Equal(r, was) {
		t.Fatalf("rewards %v became %v", was, r)
	}
	if !slices.EqualFunc(a, b, equal) {
		t.Fatalf("twice the same group %v gives %v and %v", r, a, b)
	}
}
