package formats

import (
	"slices"
	"testing"
)

// tree builds messages from their parents; sampled ones are of call 0.
func tree(parents []int32, sampled ...int) *Trajectory {
	t := &Trajectory{Calls: []Call{{Target: true}, {Target: false}}}
	for i, p := range parents {
		t.Messages = append(t.Messages, Message{Parent: p, Sampled: slices.Contains(sampled, i)})
	}
	return t
}

func TestPathLeavesAndMain(t *testing.T) {
	cases := map[string]struct {
		t            *Trajectory
		leaves, main []int
	}{
		"nothing":                      {tree(nil), nil, nil},
		"a conversation":               {tree([]int32{-1, 0, 1, 2, 3}, 2, 4), []int{4}, []int{0, 1, 2, 3, 4}},
		"ends with a tool's answer":    {tree([]int32{-1, 0, 1, 2}, 2), []int{3}, []int{0, 1, 2, 3}},
		"two branches, the later wins": {tree([]int32{-1, 0, 1, 1}, 2, 3), []int{2, 3}, []int{0, 1, 3}},
		"nothing sampled":              {tree([]int32{-1, 0}), []int{1}, []int{0, 1}},
		"two roots":                    {tree([]int32{-1, 0, -1, 2}, 1), []int{1, 3}, []int{0, 1}},
	}
	for name, c := range cases {
		if got := c.t.Leaves(); !slices.Equal(got, c.leaves) {
			t.Errorf("%s: leaves %v, want %v", name, got, c.leaves)
		}
		if got := c.t.Main(); !slices.Equal(got, c.main) {
			t.Errorf("%s: main path %v, want %v", name, got, c.main)
		}
	}
}

func TestOnlyTargetCallsTrain(t *testing.T) {
	r := tree([]int32{-1, 0, 1, 1}, 2, 3)
	r.Messages[3].Call = 1
	if !r.Trained(2) || r.Trained(3) || r.Trained(0) {
		t.Errorf("trained: %v %v %v", r.Trained(2), r.Trained(3), r.Trained(0))
	}
	if got := r.Main(); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("the main path %v ends in a call that does not train", got)
	}
	for _, call := range []int32{-1, 2, 99} {
		r.Messages[2].Call = call
		if r.Trained(2) {
			t.Errorf("a message of call %d trains", call)
		}
	}
}

// Iterating over damaged rows must not hang or panic.
func TestWalksEndOnDamagedTrees(t *testing.T) {
	for _, parents := range [][]int32{{0}, {1, 0}, {5}, {-7, 0}, {-1, 2, 1}} {
		r := tree(parents, 0)
		r.Leaves()
		r.Main()
		for i := range r.Messages {
			if n := len(r.Path(i)); n > len(parents)+1 {
				t.Errorf("parents %v: path of %d has %d messages", parents, i, n)
			}
		}
	}
	if got := tree([]int32{-1}).Path(9); got != nil {
		t.Errorf("path of no message: %v", got)
	}
}
