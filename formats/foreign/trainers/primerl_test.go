package trainers

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tinylib/msgp/msgp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/training"
)

// primeRLAttempt is two turns with a prompt between them; the first was sampled at
// temperature 0.5.
func primeRLAttempt(edit func(*formats.Trajectory)) formats.Trajectory {
	advantage := -0.5
	t := formats.Trajectory{Advantage: &advantage,
		Calls: []formats.Call{{Target: true, Sampling: `{"temperature":0.5}`}, {Target: true}},
		Messages: []formats.Message{
			{Parent: -1, Role: "user", Call: -1},
			{Parent: 0, Role: "assistant", Sampled: true, Call: 0, PromptDeltaIDs: []int32{1, 200}, TokenIDs: []int32{300},
				Logprobs: []float32{-0.25}},
			{Parent: 1, Role: "user", Call: -1},
			{Parent: 2, Role: "assistant", Sampled: true, Call: 1, PromptDeltaIDs: []int32{70000}, TokenIDs: []int32{5},
				Logprobs: []float32{-1}},
		}}
	edit(&t)
	return t
}

// write returns the micro batches of trajectories as text, and why some have none.
func write(t *testing.T, weights *sequences.Weights, rows ...formats.Trajectory) (text, skipped string) {
	t.Helper()
	var out, plain bytes.Buffer
	s := begin(&out)
	for i := range rows {
		if err := s.Give(&exporters.Item{Rows: rows[i : i+1], Weights: weights,
			Skip: func(reason string) { skipped += reason }}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := msgp.CopyToJSON(&plain, &out); err != nil || out.Len() > 0 {
		t.Fatalf("%v, %d bytes are left", err, out.Len())
	}
	return plain.String(), skipped
}

func TestTheFieldsInTheirOrder(t *testing.T) {
	const rest = `null,null,null,null,`
	want := func(temperature, weights string) string {
		return `[[[1,200,300,70000,5],[false,false,true,false,true],[0,0,-0.5,0,-0.5],[0,0,-0.25,0,-1],[0,1,2,3,4],[5],[1,1,` + temperature +
			`,1,1],["rollmill","rollmill","rollmill","rollmill","rollmill"],[5],` + rest + weights + `,null,null]]`
	}
	same := func(*formats.Trajectory) {}
	processed := func(t *formats.Trajectory) { t.Calls[0].LogprobsMode = formats.LogprobsProcessed }
	for _, c := range []struct {
		edit    func(*formats.Trajectory)
		weights *sequences.Weights
		want    string
	}{
		{same, nil, want("1", "null")},
		{processed, nil, want("0.5", "null")},
		{same, &sequences.Weights{Per: sequences.Trajectory,
			Totals: sequences.Totals{Trajectories: 2, Sequences: 2, Tokens: 10}}, want("1", "[0,0,2.5,0,2.5]")},
	} {
		if got, skipped := write(t, c.weights, primeRLAttempt(c.edit)); got != c.want || skipped != "" {
			t.Errorf("got  %s %s\nwant %s", got, skipped, c.want)
		}
	}
}

// TestAdvantagesOfMessages: a message's own, those of its tokens, and else the trajectory's.
func TestAdvantagesOfMessages(t *testing.T) {
	for want, own := range map[string][]training.MessageAdvantage{
		"[0,0,0.25,0,-0.5]": {{Message: 1, Value: 0.25}},
		"[0,0,0.25,0,2]":    {{Message: 1, Value: 0.25}, {Message: 3, Value: 1, Tokens: []float32{2}}},
		"[0,0,-0.5,0,1]":    {{Message: 3, Value: 1, Tokens: []float32{2, 3}}}, // not one for each token
	} {
		got, skipped := write(t, nil, primeRLAttempt(func(row *formats.Trajectory) { row.Advantages = own }))
		if !strings.Contains(got, "[false,false,true,false,true],"+want+",") || skipped != "" {
			t.Errorf("%s %s, want %s", got, skipped, want)
		}
	}
}

// TestLossesOfMessages: a message trains with its own, and another with rl.
func TestLossesOfMessages(t *testing.T) {
	weights := &sequences.Weights{Per: sequences.Trajectory, Totals: sequences.Totals{Trajectories: 2, Sequences: 2, Tokens: 10}} // 2.5
	for want, losses := range map[string][]training.MessageLoss{
		"[0,0,0,0,-3],null,null,null,[0,0,2.5,0,0],[0,0,0,0,0],[0,0,0,0,5]]]": {{Message: 3, Loss: training.LossRefKL, Weight: 2,
			Reference: []float32{-3}}},
		"[0,0,0,0,0],null,null,null,[0,0,1.25,0,2.5],[0,0,5,0,0],[0,0,0,0,0]]]": {{Message: 1, Loss: training.LossCE, Weight: 2},
			{Message: 1, Loss: training.LossRL, Weight: 0.5}},
	} {
		got, skipped := write(t, weights, primeRLAttempt(func(row *formats.Trajectory) { row.Losses = losses }))
		if !strings.HasSuffix(got, want) || skipped != "" {
			t.Errorf("%s %s, want %s", got, skipped, want)
		}
	}
}

func TestWhatGivesNoMicroBatch(t *testing.T) {
	for want, edit := range map[string]func(*formats.Trajectory){
		NoAdvantage:        func(t *formats.Trajectory) { t.Advantage = nil },
		sequences.NoPrompt: func(t *formats.Trajectory) { t.Messages[1].PromptDeltaIDs = nil },
	} {
		if got, skipped := write(t, nil, primeRLAttempt(edit)); got != "[]" || skipped != want {
			t.Errorf("%s: %s, skipped %q", want, got, skipped)
		}
	}
}

// BenchmarkWrite writes micro batches; a byte is one of the file.
func BenchmarkWrite(b *testing.B) {
	var groups [][]formats.Trajectory
	advantage := 0.5
	for rows := range randomtest.Trajectories(3, randomtest.Options{Groups: 20, SampledTokens: 2000, PromptTokens: 2000}) {
		for i := range rows {
			rows[i].Advantage = &advantage
		}
		groups = append(groups, rows)
	}
	for b.Loop() {
		s := begin(io.Discard)
		for _, rows := range groups {
			if err := s.Give(&exporters.Item{Rows: rows, Skip: func(string) {}}); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil || s.Rows() == 0 {
			b.Fatal(fmt.Sprint(s.Rows(), err))
		}
	}
}
