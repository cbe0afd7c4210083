package verifiers

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/training"
)

// TestAdvantagesOfNodes: each node has its message's, or those of its tokens, or the trajectory's.
func TestAdvantagesOfNodes(t *testing.T) {
	advantage := -0.5
	says := func(parent int32, ids ...int32) formats.Message {
		return formats.Message{Parent: parent, Role: "assistant", Sampled: true, PromptDeltaIDs: []int32{1}, TokenIDs: ids, Logprobs: make([]float32, len(ids))}
	}
	row := formats.Trajectory{Advantage: &advantage, Calls: []formats.Call{{Target: true, Tools: -1}},
		Messages: []formats.Message{says(-1, 2, 3), says(0, 4), says(1, 5, 6), says(2, 7)},
		Advantages: []training.MessageAdvantage{{Message: 1, Value: 0.25}, {Message: 2, Value: 1, Tokens: []float32{0.5, 1.5}},
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

// TestCreditOfNodes: what a consumer gave the nodes is in columns, and what no column
// holds stays a member and blocks.
func TestCreditOfNodes(t *testing.T) {
	for name, c := range map[string]struct{ members, want string }{
		"advantages":       {`"advantages":[0.5,1.5]`, `[{1 1 [0.5 1.5]}] [] ` + `{}`},
		"too few":          {`"advantages":[0.5]`, `[] [] {"1":{"advantages":[0.5]}}`},
		"unassigned":       {`"advantages":null,"loss_weights":null`, `[] [] {}`},
		"losses":           {`"loss_weights":{"rl":[0,0.5,0.5],"ce":[9,2,2]}`, `[] [{1 rl 0.5 []} {1 ce 2 []}] {}`},
		"a reference":      {`"loss_weights":{"ref_kl":[0,1,1]},"reference_logprobs":[-1,-2]`, `[] [{1 ref_kl 1 [-1 -2]}] {"1":{"reference_logprobs":[-1,-2]}}`},
		"no reference":     {`"loss_weights":{"ref_kl":[0,1,1]}`, `[] [] {"1":{"loss_weights":{"ref_kl":[0,1,1]}}}`},
		"weights of token": {`"loss_weights":{"rl":[0,0.5,1]}`, `[] [] {"1":{"loss_weights":{"rl":[0,0.5,1]}}}`},
		"another name":     {`"loss_weights":{"mine":[0,1,1]}`, `[] [] {"1":{"loss_weights":{"mine":[0,1,1]}}}`},
		"the trainer's":    {`"trainer_logprobs":[-1,-2],"entropies":[1,1]`, `[] [] {"1":{"trainer_logprobs":[-1,-2],"entropies":[1,1]}}`},
	} {
		g := graphReader{target: true}
		g.read(jsontext.ParseObject([]byte(`{"nodes":[{"message":{"role":"user","content":"q"},"token_ids":[1]},
			{"parent":0,"sampled":true,"message":{"role":"assistant","content":"a"},"token_ids":[2,3,4],"mask":[false,true,true],"logprobs":[-1,-1],` + c.members + `}]}`)))
		fields := jsontext.ParseObject([]byte(g.Meta.String())).Get("message_fields")
		if got := fmt.Sprint(g.advantages, g.losses, " ", cmp.Or(string(fields), "{}")); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
