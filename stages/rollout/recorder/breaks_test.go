package recorder_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// said is an answer with one logprob for each id.
func said(message, prompt string, ids ...int) string {
	text, _ := json.Marshal(ids)
	entries := strings.TrimSuffix(strings.Repeat(`{"logprob":-1},`, len(ids)), ",")
	if prompt != "" {
		prompt = `"prompt_token_ids":` + prompt + ","
	}
	return fmt.Sprintf(`{"model":"policy",%s"choices":[{"index":0,"message":%s,"logprobs":{"content":[%s]},"finish_reason":"stop","token_ids":%s}],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`,
		prompt, message, entries, text, len(ids))
}

// TestCausesOfBreaks: the second prompt does not begin with the first and its
// answer, and the cause is what the agent, or else the template, made of it.
func TestCausesOfBreaks(t *testing.T) {
	plain := `{"role":"assistant","content":"a"}`
	tooled := `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]}`
	for _, c := range []struct {
		name, first, back string
		prompts           [2]string
		want              string // of the second answer
	}{
		{"none", plain, plain, [2]string{"[1,2]", "[1,2,7,3]"}, "2 assistant | b | ends stop | [8] [-1] after [3]"},
		{"template", plain, plain, [2]string{"[1,2]", "[1,9,7,3]"}, "2 assistant | b | ends stop | break template | [8] [-1] after [1 9 7 3]"},
		{"a shorter prompt", plain, plain, [2]string{"[1,2]", "[1]"}, "2 assistant | b | ends stop | break template | [8] [-1] after [1]"},
		{"content", `{"role":"assistant","content":" a\n"}`, plain, [2]string{"[1,2]", "[1,2,5,3]"},
			"2 assistant | b | ends stop | break content | [8] [-1] after [1 2 5 3]"},
		{"thinking in the text", `{"role":"assistant","content":"<think>hm</think>a"}`, plain, [2]string{"[1,2]", "[1,2,5]"},
			"2 assistant | b | ends stop | break reasoning | [8] [-1] after [1 2 5]"},
		{"reasoning left out by the agent", `{"role":"assistant","content":"a","reasoning":"hm"}`, plain, [2]string{"[1,2]", "[1,2,5]"},
			"2 assistant | b | ends stop | break reasoning | [8] [-1] after [1 2 5]"},
		{"reasoning left out by the template", `{"role":"assistant","content":"a","reasoning_content":"hm"}`,
			`{"role":"assistant","content":"a","reasoning_content":"hm"}`, [2]string{"[1,2]", "[1,2,7,5]"},
			"2 assistant | b | ends stop | break reasoning | [8] [-1] after [1 2 7 5]"},
		{"reasoning that stays, and another template", `{"role":"assistant","content":"a","reasoning":"hm"}`,
			`{"role":"assistant","content":"a","reasoning":"hm"}`, [2]string{"[1,2]", "[1,9,6,7,5]"},
			"2 assistant | b | ends stop | break template | [8] [-1] after [1 9 6 7 5]"},
		{"reasoning left out, and the text changed", `{"role":"assistant","content":" a\n","reasoning":"hm"}`, plain, [2]string{"[1,2]", "[1,2,5]"},
			"2 assistant | b | ends stop | break content | [8] [-1] after [1 2 5]"},
		{"reasoning left out, and no break", `{"role":"assistant","content":"a","reasoning":"hm"}`, plain, [2]string{"[1,2]", "[1,2,7,3]"},
			"2 assistant | b | ends stop | [8] [-1] after [3]"},
		{"arguments, restored", tooled, strings.Replace(tooled, `: 1`, `:1`, 1), [2]string{"[1,2]", "[1,2,5]"},
			"2 assistant | b | ends stop | break template | [8] [-1] after [1 2 5]"},
		{"the first prompt unknown", plain, plain, [2]string{"", "[1,2,7,3]"}, "2 assistant | b | ends stop | break unknown | [8] [-1] after [1 2 7 3]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ids := []int{7}
			if strings.Contains(c.name, "reasoning") && !strings.Contains(c.name, "no break") {
				ids = []int{6, 7} // the first is its reasoning
			}
			_, s := play(t, said(c.first, c.prompts[0], ids...), said(`{"role":"assistant","content":"b"}`, c.prompts[1], 8))
			ask(t, s, nil, user("one"))
			var back fields
			json.Unmarshal([]byte(c.back), &back)
			ask(t, s, nil, user("one"), back, user("two"))
			rec := s.End()
			if got := outlines(rec); len(got) != 4 || got[3] != c.want {
				t.Errorf("%v\nwant %s", got, c.want)
			}
			checkRow(t, rec)
		})
	}
}

// TestACauseIsOfItsOwnBreak: what broke the prefix before is no cause of the next
// break, nor is reasoning that the prompt still has.
func TestACauseIsOfItsOwnBreak(t *testing.T) {
	_, s := play(t, said(`{"role":"assistant","content":"a","reasoning":"hm"}`, "[1,2]", 6, 7), said(`{"role":"assistant","content":"b"}`, "[1,2,7,3]", 8),
		said(`{"role":"assistant","content":"c"}`, "[1,2,7,3,9]", 10), said(`{"role":"assistant","content":"d","reasoning":"so"}`, "[1,2,7,3,9,10,11]", 12, 13),
		said(`{"role":"assistant","content":"e"}`, "[5]", 14))
	var prompt []fields
	for i, answer := range []string{"a", "b", "c", "d", "e"} {
		prompt = append(prompt, user(fmt.Sprint(i)))
		ask(t, s, nil, prompt...)
		prompt = append(prompt, assistant(answer))
	}
	rec := s.End()
	var got []string
	for _, m := range rec.Messages {
		if m.Sampled {
			got = append(got, m.PrefixBreak)
		}
	}
	if want := []string{"", tree.BreakReasoning, chat.BreakTemplate, "", chat.BreakTemplate}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	checkRow(t, rec)
}

// TestAConversationGoesOnFromTheChoiceTaken, not from the first.
func TestAConversationGoesOnFromTheChoiceTaken(t *testing.T) {
	two := `{"model":"policy","prompt_token_ids":[1,2],"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop","token_ids":[7]},
		{"index":1,"message":{"role":"assistant","content":"b"},"logprobs":{"content":[{"logprob":-2}]},"finish_reason":"stop","token_ids":[8]}],` + usage2 + `}`
	_, s := play(t, two, said(`{"role":"assistant","content":"c"}`, "[1,2,8,3]", 9))
	ask(t, s, fields{"n": 2}, user("one"))
	ask(t, s, nil, user("one"), assistant("b"), user("two"))
	rec := s.End()
	want := []string{"-1 user | one", "0 assistant | a | ends stop | [7] [-1] after [1 2]",
		"0 assistant | b | branch choice | ends stop | [8] [-2] after [1 2]",
		"2 user | two", "3 assistant | c | ends stop | [9] [-1] after [3]"}
	if d := cmp.Diff(want, outlines(rec)); d != "" {
		t.Error(d)
	}
	checkRow(t, rec)
}

// TestCompactionAndSubagents: what was left out or begun anew is a branch, and
// every id is stored once, with the whole prompt at a branch's first answer.
func TestCompactionAndSubagents(t *testing.T) {
	system, helper := fields{"role": "system", "content": "be brief"}, fields{"role": "system", "content": "you help"}
	_, s := play(t, said(`{"role":"assistant","content":"a"}`, "[1,2]", 7), said(`{"role":"assistant","content":"a and b were added"}`, "[1,2,7,3]", 8),
		said(`{"role":"assistant","content":"found"}`, "[40,41]", 42), said(`{"role":"assistant","content":"c"}`, "[1,5]", 9),
		said(`{"role":"assistant","content":"d"}`, "[1,5,9,6]", 10))
	ask(t, s, nil, system, user("one"))
	ask(t, s, nil, system, user("one"), assistant("a"), user("two"))
	ask(t, s, nil, helper, user("look"))                                                              // a sub-agent
	ask(t, s, nil, system, user("summary: a and b were added"))                                       // the agent compacted its context
	ask(t, s, nil, system, user("summary: a and b were added"), assistant("c"), user("and the rest")) // and goes on there
	rec := s.End()
	want := []string{"-1 system | be brief", "0 user | one", "1 assistant | a | ends stop | [7] [-1] after [1 2]", "2 user | two",
		"3 assistant | a and b were added | ends stop | [8] [-1] after [3]",
		"-1 system | you help | branch subagent", "5 user | look", "6 assistant | found | ends stop | [42] [-1] after [40 41]",
		"0 user | summary: a and b were added | branch compaction", "8 assistant | c | ends stop | [9] [-1] after [1 5]", "9 user | and the rest",
		"10 assistant | d | ends stop | [10] [-1] after [6]"}
	if d := cmp.Diff(want, outlines(rec)); d != "" {
		t.Error(d)
	}
	checkRow(t, rec)
}

// TestAnAgentThatAsksAgain: a client that hung up and asks the same again goes
// on from the same prompt; one that has its answer and asks again branches.
func TestAnAgentThatAsksAgain(t *testing.T) {
	arrived := make(chan struct{}, 3)
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Fault: first(fault{Kind: recordertest.Hang}),
		Arrived: func(int, recordertest.Request) { arrived <- struct{}{} }}
	s := record(t, e).Begin(context.Background(), "t", "g")
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "POST", s.BaseURL()+"/chat/completions",
		strings.NewReader(`{"model":"policy","messages":[{"role":"user","content":"one"}]}`))
	done := make(chan error)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		done <- err
	}()
	<-arrived
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	ask(t, s, nil, user("one"))
	ask(t, s, nil, user("one"))
	rec := s.End()
	if len(rec.Messages) != 3 || rec.Messages[1].Branch != "" || rec.Messages[2].Branch != tree.BranchRetry || len(rec.Calls) != 3 || rec.Untrainable != nil {
		t.Errorf("%v", outlines(rec))
	}
	checkRow(t, rec)
}

// TestReasoningStreams in its own field, and its absence later breaks the prefix.
func TestReasoningStreams(t *testing.T) {
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Reasoning: true}
	s := record(t, e).Begin(context.Background(), "t", "g")
	_, one := ask(t, s, fields{"stream": true}, user("one"))
	ask(t, s, fields{"stream": true}, user("one"), assistant(streamed(one)), user("two"))
	rec := s.End()
	if len(rec.Messages) != 4 || rec.Messages[1].Reasoning != "let me see" || rec.Messages[3].PrefixBreak != tree.BreakReasoning {
		t.Errorf("%v", outlines(rec))
	}
}
