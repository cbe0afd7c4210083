package audit

import (
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// TestMismatch: the classes of tokens and their figures, and what they do not cover.
func TestMismatch(t *testing.T) {
	version := func(n int64) *int64 { return &n }
	row := &formats.Trajectory{PolicyVersion: version(4), Calls: []formats.Call{{PromptTokens: 511}, {PromptTokens: 9000, PolicyVersion: version(3)}},
		Messages: []formats.Message{
			{Call: 0, Logprobs: []float32{-1, -2, -3}},
			{Call: 1, Logprobs: []float32{-1, -1}, ToolCalls: []formats.ToolCall{{Name: "f"}}},
			{Call: -1, Logprobs: []float32{-1}},
		}}
	all := mismatches{}
	all.add(row, 0, []float32{-1, -2, -3 + 0.5})
	all.add(row, 1, []float32{-1.25, -1})
	all.add(row, 2, []float32{-9}) // the agent's own
	all.add(row, 0, []float32{-9}) // of another number of tokens
	want := []struct {
		of     string
		tokens int64
		logs   []float64
	}{{"all", 5, []float64{0, 0, 0.5, -0.25, 0}}, {"in a message of text", 2, []float64{0, 0}}, {"in a message with tool calls", 1, []float64{-0.25}},
		{"last token of a message", 2, []float64{0.5, 0}}, {"position 0 and later", 1, []float64{0}}, {"position 512 and later", 2, []float64{0, 0.5}},
		{"position 8192 and later", 2, []float64{-0.25, 0}}, {"policy version 4", 3, []float64{0, 0, 0.5}}, {"policy version 3", 2, []float64{-0.25, 0}}}
	got := all.sorted("u")
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		ratio, kl, worst := 0.0, 0.0, 0.0
		for _, l := range w.logs {
			ratio, kl, worst = ratio+math.Exp(l)/float64(w.tokens), kl+(math.Exp(l)-1-l)/float64(w.tokens), max(worst, math.Abs(l))
		}
		if g := got[i]; g.Of != w.of || g.Tokens != w.tokens || math.Abs(g.Ratio-ratio) > 1e-9 || math.Abs(g.KL-kl) > 1e-9 || math.Abs(g.Worst-worst) > 1e-9 {
			t.Errorf("%+v, want %s: %d tokens, %v, %v, %v", g, w.of, w.tokens, ratio, kl, worst)
		}
	}
	w := &world{t, "mem://no-signals/run"}
	signals(0, 0)(w, false)
	if _, err := Run(t.Context(), Options{URI: w.root, Mismatch: "teacher"}); err == nil || !strings.Contains(err.Error(), `no scores have signals of a reward "teacher"`) {
		t.Errorf("%v", err)
	}
}
