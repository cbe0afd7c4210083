package sandbox

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

const addTool = `{"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"number"}},"required":["a","b"]}}}`

const paintTool = `{"type":"function","function":{"name":"paint","parameters":{"type":"object","properties":{
	"colour":{"enum":["red","reddish","blue",7]},"who":{"type":"string"},"A1 \"q\"":{"type":["boolean","null"]},"deep":{"type":"object","properties":{"x":{"const":null},"y":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["x","y"],"additionalProperties":false},
	"list":{"type":"array"},"none":{"type":"null"},"free":{}}}}}`

const nowTool = `{"type":"function","function":{"name":"now"}}`

// withTools asks a user's question with tools; more are further members.
func withTools(tools, more string) string {
	return ask(DefaultBaseModel, "what is it?", fmt.Sprintf(`"tools":[%s]`, tools)+more)
}

// TestToolCallsFitTheirSchemas, whatever the seed, and are there in about as
// many answers as the chances of their first tokens say.
func TestToolCallsFitTheirSchemas(t *testing.T) {
	var definition struct {
		Function struct{ Parameters jsonschema.Schema }
	}
	if err := json.Unmarshal([]byte(paintTool), &definition); err != nil {
		t.Fatal(err)
	}
	want, err := definition.Function.Parameters.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, Options{})
	seen, called, several := map[string]int{}, 0, 0
	const n = 300
	for seed := range n {
		choice := h.chat(withTools(paintTool+","+addTool+","+nowTool, fmt.Sprintf(`,"seed":%d`, seed))).Choices[0]
		if len(choice.Message.ToolCalls) == 0 {
			if *choice.FinishReason != "stop" || choice.Message.Content == nil {
				t.Errorf("seed %d: %+v", seed, choice)
			}
			continue
		}
		called++
		if len(choice.Message.ToolCalls) > 1 {
			several++
		}
		if *choice.FinishReason != "tool_calls" || choice.Message.Content != nil {
			t.Errorf("seed %d: finish %s, content %v", seed, *choice.FinishReason, choice.Message.Content)
		}
		for _, call := range choice.Message.ToolCalls {
			seen[call.Function.Name]++
			var arguments any
			if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil {
				t.Fatalf("seed %d: arguments %s: %v", seed, call.Function.Arguments, err)
			}
			if call.Function.Name == "paint" && want.Validate(arguments) != nil {
				t.Errorf("seed %d: %s: %v", seed, call.Function.Arguments, want.Validate(arguments))
			}
		}
	}
	if share := float64(called) / n; math.Abs(share-chanceAsked) > 0.06 {
		t.Errorf("%.2f of the answers call a tool; want %.2f", share, chanceAsked)
	}
	if len(seen) != 3 || several == 0 || seen["now"] < n/5 {
		t.Errorf("calls %v, %d answers with several", seen, several)
	}
}

// TestLogprobsOfCallsAreThoseDrawnFrom: the chances of the calls of a tool
// with few possible arguments add up, and come out as often as they say.
func TestLogprobsOfCallsAreThoseDrawnFrom(t *testing.T) {
	tool := `{"type":"function","function":{"name":"flip","parameters":{"type":"object","properties":{"side":{"enum":["red","reddish","blue"]},"heads":{"type":"boolean"}},"required":["side","heads"]}}}`
	h := start(t, Options{})
	drawn, said := map[string]int{}, map[string]float64{}
	const n = 3000
	for seed := range n / 100 {
		c := h.chat(withTools(tool, fmt.Sprintf(`,"seed":%d,"n":100,"temperature":0.7,"tool_choice":"required","parallel_tool_calls":false`, seed)))
		for _, choice := range c.Choices {
			sum := 0.0
			for _, l := range choice.Logprobs.Content {
				sum += l.Logprob
			}
			arguments := choice.Message.ToolCalls[0].Function.Arguments
			drawn[arguments]++
			said[arguments] = math.Exp(sum)
		}
	}
	total := 0.0
	for arguments, times := range drawn {
		total += said[arguments]
		if got := float64(times) / n; math.Abs(got-said[arguments]) > 5*math.Sqrt(said[arguments]/n) {
			t.Errorf("%s is drawn with %.4f and said to have %.4f", arguments, got, said[arguments])
		}
	}
	if len(drawn) != 6 || math.Abs(total-1) > 1e-9 {
		t.Errorf("the chances of %d calls add up to %v", len(drawn), total)
	}
}

// TestAConversationWithToolsOnlyGrows: the tokens of a prompt begin with those
// of the prompt before and its answer, calls among them.
func TestAConversationWithToolsOnlyGrows(t *testing.T) {
	h := start(t, Options{})
	for seed := range 20 {
		messages := []any{map[string]any{"role": "user", "content": "what is it?"}}
		var before []int
		for turn := range 4 {
			list, _ := json.Marshal(messages)
			c := h.chat(fmt.Sprintf(`{"model":%q,"messages":%s,"tools":[%s],"logprobs":true,"return_token_ids":true,"seed":%d,"top_logprobs":2}`,
				DefaultBaseModel, list, paintTool+","+addTool, 10*seed+turn))
			if len(before) > len(c.PromptTokenIDs) || !slices.Equal(before, c.PromptTokenIDs[:len(before)]) {
				t.Fatalf("seed %d, turn %d: the prompt %q does not begin with %q", seed, turn, text(c.PromptTokenIDs), text(before))
			}
			choice := c.Choices[0]
			if len(choice.Logprobs.Content) != len(choice.TokenIDs) {
				t.Fatalf("%d logprobs for %d tokens", len(choice.Logprobs.Content), len(choice.TokenIDs))
			}
			for i, l := range choice.Logprobs.Content {
				if len(*l.Top) == 0 || l.Logprob > (*l.Top)[0].Logprob {
					t.Errorf("token %d: %+v", i, l)
				}
			}
			before = slices.Concat(c.PromptTokenIDs, choice.TokenIDs)
			messages = append(messages, choice.Message)
			if len(choice.Message.ToolCalls) == 0 {
				messages = append(messages, map[string]any{"role": "user", "content": "and now?"})
			}
			for _, call := range choice.Message.ToolCalls {
				messages = append(messages, map[string]any{"role": "tool", "tool_call_id": call.ID, "content": "seen"})
			}
		}
	}
}

func TestAStreamOfCallsSaysWhatTheWholeAnswerSays(t *testing.T) {
	h := start(t, Options{})
	for seed := range 30 {
		for _, more := range []string{"", `,"max_tokens":40`} {
			more = fmt.Sprintf(`,"seed":%d,"n":2`, seed) + more
			whole := h.chat(withTools(addTool+","+nowTool, more))
			r := h.do("POST", "/v1/chat/completions", withTools(addTool+","+nowTool, more+`,"stream":true,"stream_options":{"include_usage":true}`))
			got := assemble(t, string(r.want(t, 200, nil).body))
			got.ID, got.Created, got.Object = whole.ID, whole.Created, whole.Object
			for i := range whole.Choices { // cut before a name was whole
				if m := whole.Choices[i].Message; m.Content == nil && len(m.ToolCalls) == 0 {
					got.Choices[i].Message.Content = nil
				}
			}
			if d := cmp.Diff(whole, got); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	}
}

func TestToolChoice(t *testing.T) {
	h := start(t, Options{})
	for seed := range 30 {
		for choice, want := range map[string]string{`"none"`: "", `"required"`: "add now", `{"type":"function","function":{"name":"now"}}`: "now"} {
			c := h.chat(withTools(addTool+","+nowTool, fmt.Sprintf(`,"seed":%d,"tool_choice":%s,"temperature":0.5,"top_p":0.9`, seed, choice)))
			calls := c.Choices[0].Message.ToolCalls
			if len(calls) == 0 && want != "" || len(calls) > 0 && !strings.Contains(want, calls[0].Function.Name) || want == "" && len(calls) > 0 {
				t.Errorf("tool_choice %s: calls %+v", choice, calls)
			}
		}
		one := h.chat(withTools(addTool, fmt.Sprintf(`,"seed":%d,"tool_choice":"required","parallel_tool_calls":false`, seed)))
		if len(one.Choices[0].Message.ToolCalls) != 1 {
			t.Errorf("parallel calls, which were not wanted: %+v", one.Choices[0].Message.ToolCalls)
		}
	}
	for _, bad := range []string{`,"tool_choice":"sometimes"`, `,"tool_choice":{"type":"function","function":{"name":"fly"}}`} {
		h.do("POST", "/v1/chat/completions", withTools(addTool, bad)).want(t, 400, nil)
	}
	h.do("POST", "/v1/chat/completions", withTools(`{"type":"function"}`, "")).want(t, 400, nil)
}

// TestCallsAreNotLearnt: of an answer that calls, nothing is trained on, and of
// one in words all but the choice not to call.
func TestCallsAreNotLearnt(t *testing.T) {
	tools := json.RawMessage("[" + addTool + "]")
	r := chatRequest{Tools: tools, Messages: []chatMessage{{Role: "user"}}}
	calling, _ := r.calling()
	p := newPolicy(8, 1)
	learnt := map[bool]int{}
	for seed := range uint64(60) {
		a := p.sample(newView(board{}, false), sampling{temperature: 1, topP: 1, maxTokens: 200, seed: seed, calling: calling}, 0)
		body, _ := json.Marshal([]any{map[string]any{"role": "user", "content": "?"}, choiceOf(a)})
		h := history{Tools: tools}
		if err := json.Unmarshal(body, &h.Entries); err != nil {
			t.Fatal(err)
		}
		got, err := reader{maxTokens: 1000}.read(h)
		if err != nil {
			t.Fatal(err)
		}
		want := len(a.ids) - 1
		if a.calls != nil {
			want = 0
		}
		if len(got) != want {
			t.Errorf("seed %d: %d tokens to learn of %q", seed, len(got), text(a.ids))
		}
		learnt[a.calls != nil]++
	}
	if learnt[true] == 0 || learnt[false] == 0 {
		t.Errorf("answers of one kind only: %v", learnt)
	}
}
