package estimators_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestValue(t *testing.T) {
	estimatortest.Run(t, estimators.Value)
	s, err := estimators.Value.Make(estimators.Value.New(), group.Setup{Compat: group.CompatNone})
	if err != nil {
		t.Fatal(err)
	}
	var v group.Valid
	v.Set([]float64{1, 0}) // the start is worth 0.5
	steps := [][]group.Step{{{}, {Value: new(0.25)}, {}, {Value: new(0.75)}}, {{}, {}}}
	out := [][]group.Credit{make([]group.Credit, 4), make([]group.Credit, 2)}
	if err := s.Steps(&v, steps, out); err != nil {
		t.Fatal(err)
	}
	var got [][]float64
	for _, of := range out {
		var list []float64
		for _, c := range of {
			list = append(list, c.Value)
		}
		got = append(got, list)
	}
	// 0.5 to 0.25 in the first, to 0.75 in two, and to the reward
	if d := cmp.Diff([][]float64{{-0.25, 0.5, 0.5, 0.25}, {-0.5, -0.5}}, got); d != "" {
		t.Error(d)
	}
}
