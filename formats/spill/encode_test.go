package spill_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/spill"
)

func TestAppend(t *testing.T) {
	var all []formats.Trajectory
	for rows := range randomtest.Trajectories(1, randomtest.Options{Groups: 3, Generations: 3, Failures: 0.3, Messages: 4, SampledTokens: 20, PromptTokens: 5}) {
		all = append(all, rows...)
	}
	zero, none, version := 0.0, math.NaN(), int64(0)
	all = append(all, formats.Trajectory{}, formats.Trajectory{
		Reward: &zero, Advantage: &none, PolicyVersion: &version, Answer: "\xff\x00", ShapedRewards: []float64{},
		Messages: []formats.Message{{Parent: -1, TokenIDs: []int32{}, Logprobs: []float32{float32(math.Inf(-1)), float32(math.NaN())}}},
	})
	for _, want := range all {
		got := formats.Trajectory{Answer: "of the row before", Messages: []formats.Message{{}}, Reward: new(float64)}
		spill.Decode(spill.Append(nil, &want), &got)
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestUnsupportedTypes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a map is written down")
		}
	}()
	spill.Append(nil, &map[string]int{})
}
