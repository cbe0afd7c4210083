package verifiers

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// TestAdvantagesOfNodes: each node has its message's, or those of its tokens, or the trajectory's.
func TestAdvantagesOfNodes(t *testing.T) {
	advantage := -0.5
	says := func(parent int32, ids ...int32) formats.Message {
		return formats.Message{Parent: parent, Role: "assistant", Sampled: true, PromptDeltaIDs: []int32{1}, TokenIDs: ids, Logprobs: make([]float32, len(ids))}
	}
	row := formats.Trajectory{Advantage: &advantage, Calls: []formats.Call{{Target: true, Tools: -1}},
		Messages: []formats.Message{says(-1, 2, 3), says(0, 4), says(1, 5, 6), says(2, 7)},
		Advantages: []formats.MessageAdvantage{{Message: 1, Value: 0.25}, {Message: 2, Value: 1, Tokens: []float32{0.5, 1.5}},
			{Message: 3, Value: 2, Tokens: []float32{1, 3}}}} // the last are not one for each token
	g := graphWriter{t: &row, lose: func(part string) { t.Error(part) }, at: make([]int, len(row.Messages))}
	g.build()
	var got []string
	for _, n := range g.nodes {
		got = append(got, fmt.Sprint(n.Advantages))
	}
	if want := "[[-0.5 -0.5] [0.25] [0.5 1.5] [2]]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
