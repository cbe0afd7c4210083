package calls_test

import (
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
)

// TestMetadataOfCalls: what calls share is kept once, what they differ in by call, and fields of messages
// at the messages that prompts share.
func TestMetadataOfCalls(t *testing.T) {
	with := func(metadata string, reward float64) func(*importers.Item) {
		return func(x *importers.Item) { x.Row.Metadata, x.Row.Reward = metadata, &reward }
	}
	_, items, _ := join(t, calls.Options{Memory: 1 << 20}, []request{
		{id: "1", at: 10, prompt: "hi", answer: "w|x", edit: with(`{"team":"a","cost":1,"message_fields":{"0":{"lang":"en"},"1":{"score":2},"2":{"score":3}}}`, 1)},
		{id: "2", at: 20, prompt: "hi|a:x|on", answer: "y", edit: with(`{"team":"a","cost":2,"message_fields":{"0":{"lang":"en"},"1":{"score":4},"2":{"new":true}}}`, 0)},
		{id: "3", at: 30, prompt: "hi|a:x|on|a:y|1|a:lost|2", answer: "z", edit: with(`{"team":"a"}`, 1)},
	})
	want := []string{
		`{"team":"a","merged_calls":[{"id":"1","started_at":10,"reward":1,"cost":1,"message_fields":{"1":{"score":2}}},` +
			`{"id":"2","started_at":20,"reward":0,"cost":2,"message_fields":{"1":{"score":4}}}],"missing_call":{"before":[],"after":[1]},` +
			`"message_fields":{"0":{"lang":"en"},"1":{"score":3},"2":{"new":true}}}`,
		`{"team":"a","merged_calls":[{"id":"3","started_at":30}],"missing_call":{"before":[0],"after":[]}}`,
	}
	for i, x := range items {
		if x.Row.Metadata != want[i] {
			t.Errorf("%s, want\n%s", x.Row.Metadata, want[i])
		}
	}
}

// TestWhatBelongsToAnswers: times, and the ids of a prompt's tokens, of which a break has its cause.
func TestWhatBelongsToAnswers(t *testing.T) {
	ids := func(prompt, answer []int32) func(*importers.Item) {
		return func(x *importers.Item) {
			m := &x.Row.Messages[len(x.Row.Messages)-1]
			m.PromptDeltaIDs, m.TokenIDs, m.Logprobs = prompt, answer, make([]float32, len(answer))
			x.Row.TokenSource = "token_ids"
		}
	}
	_, items, _ := join(t, calls.Options{Memory: 1 << 20}, []request{
		{at: 10_000, took: 7_000, prompt: "hi", answer: "x", edit: ids([]int32{1, 2}, []int32{3})},
		{at: 20_000, took: 5_000, prompt: "hi|a:x|on", answer: "y", edit: ids([]int32{1, 2, 3, 4}, []int32{5})},
		{at: 30_000, took: 5_000, prompt: "hi|a:x|on|a:y |2", answer: "z", edit: ids([]int32{1, 2, 3, 4, 6, 7}, []int32{8})},
	})
	row := &items[0].Row
	type token struct {
		delta []int32
		broke string
	}
	want := []token{{[]int32{1, 2}, ""}, {[]int32{4}, ""}, {[]int32{1, 2, 3, 4, 6, 7}, "content"}}
	k := 0
	for i := range row.Messages {
		if m := &row.Messages[i]; m.Sampled {
			if len(m.PromptDeltaIDs) != len(want[k].delta) || m.PrefixBreak != want[k].broke {
				t.Errorf("answer %d: %v %q, want %+v", k, m.PromptDeltaIDs, m.PrefixBreak, want[k])
			}
			k++
		}
	}
	if k != 3 || row.TokenSource != "token_ids" || row.Calls[0].LatencyMS != 7 || row.StartedAt != 10_000 || row.FinishedAt != 35_000 {
		t.Errorf("%d answers, %+v", k, row)
	}
}
