package prove

import (
	"encoding/json"
	"iter"
	"math"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/training"
)

// TestLossOfWhitenedAdvantages: where the estimator leaves the whitening to the trainer, its
// loss is that of advantages less their mean over tokens, in units of their deviation.
func TestLossOfWhitenedAdvantages(t *testing.T) {
	rows := []*trainers.SequenceRow{
		{ResponseIDs: []int32{1, 2, 3}, LossMask: []bool{true, false, true}, Logprobs: []float32{-1, 0, -1}, Advantage: new(1.0), Tokens: 2, Weight: 1},
		{ResponseIDs: []int32{1}, LossMask: []bool{true}, Logprobs: []float32{-1}, Advantage: new(-2.0), Tokens: 1, Weight: 2},
	}
	var each iter.Seq2[*trainers.SequenceRow, error] = func(yield func(*trainers.SequenceRow, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
	for _, how := range []*training.Whitening{nil, {}, {Sample: true, Epsilon: 0.5}, {Floor: 9}} {
		state, err := json.Marshal(decision.CurateState{Advantages: &training.GroupState{Whiten: how}})
		if err != nil {
			t.Fatal(err)
		}
		b := &batch{curated: &dataset.Dataset{Manifest: manifest.Manifest{Content: manifest.Content{State: state}}}}
		whiten, err := b.whitening(each)
		if err != nil {
			t.Fatal(err)
		}
		mean, scale := 0.0, 1.0
		if how != nil { // 1, 1 and -2 have the variance 2, or 3 of a sample
			scale = math.Sqrt(2)
			switch {
			case how.Sample:
				scale = math.Sqrt(3 + how.Epsilon)
			case how.Floor > 0:
				scale = 3
			}
		}
		for i, r := range rows {
			ratio := math.Exp(0.25)
			want := -r.Weight * (*r.Advantage - mean) / scale * ratio
			e := &trainers.EchoRow{Old: []float32{-0.75, 9, -0.75}[:len(r.ResponseIDs)], Loss: &want}
			if d := loss(r, []trainers.EchoRow{*e}, whiten); d != nil {
				t.Errorf("%+v, row %d: %+v", how, i, d)
			}
			off := want + 0.01
			if e.Loss = &off; loss(r, []trainers.EchoRow{*e}, whiten) == nil {
				t.Errorf("%+v, row %d: %v for %v", how, i, off, want)
			}
		}
	}
}
