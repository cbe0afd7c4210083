package sequences_test

import (
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/sequences"
)

// TestTexts: what is true of several files is said once.
func TestTexts(t *testing.T) {
	whole, part := receipts.Balance{Tokens: 5, In: 5, Sequences: 2, Trajectories: 1}, receipts.Balance{Tokens: 4, In: 5, Sequences: 1, Trajectories: 1}
	got := sequences.Texts(map[string]receipts.Balance{"c": whole, "a": whole, "b": part})
	want := []string{"b: 4 of 5 sampled tokens in 1 sequence of 1 trajectory", "a, c: 5 of 5 sampled tokens in 2 sequences of 1 trajectory"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if sequences.Texts(nil) != nil {
		t.Error("no file has a text")
	}
}
