package recorder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// rewritten is a message as LangChain sends it back: arguments are parsed, and
// encoded as Python does.
func rewritten(content string, calls ...formats.ToolCall) fields {
	list := []fields{}
	for _, c := range calls {
		text := c.Arguments
		var v map[string]any
		if json.Unmarshal([]byte(text), &v) == nil {
			b, _ := json.Marshal(v)
			text = strings.NewReplacer(`":`, `": `, `,"`, `, "`, "é", `\u00e9`).Replace(string(b))
		}
		list = append(list, fields{"id": c.ID, "type": "function", "function": fields{"name": c.Name, "arguments": text}, "extra": "kept"})
	}
	return fields{"role": "assistant", "content": content, "tool_calls": list, "extra": []int{1}}
}

// TestAClientThatWritesArgumentsAnew breaks no prefix: the engine gets what it
// sampled, and everything else as the agent sent it.
func TestAClientThatWritesArgumentsAnew(t *testing.T) {
	sampled := []string{`{"q":"café","n":1}`, `{ "n" :2.0 , "q":"x" }`, `{}`, ``, `{"cut":"of`, `{"n":3,"deep":{"b":[1,  2],"a":null}}`}
	turn := 0
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(q recordertest.Request) recordertest.Reply {
		call := func(k int) formats.ToolCall {
			return formats.ToolCall{ID: fmt.Sprintf("c%d.%d", turn, k), Name: "look", Arguments: sampled[(turn+k)%len(sampled)]}
		}
		turn++
		return recordertest.Reply{Content: "I look.", ToolCalls: []formats.ToolCall{call(0), call(1)}}
	}}
	s := record(t, e).Begin(context.Background(), "t", "g")
	chat := []fields{user("one")}
	const turns = 12
	for n := range turns {
		ask(t, s, nil, chat...)
		calls := e.Asked()[n]
		if n > 0 {
			back := calls.Messages[len(calls.Messages)-3].ToolCalls
			if want := []string{sampled[n%len(sampled)], sampled[(n+1)%len(sampled)]}; back[0].Arguments != want[0] || back[1].Arguments != want[1] {
				t.Errorf("turn %d: the engine got %q, it sampled %q", n, back, want)
			}
			if raw := string(calls.Fields["messages"]); strings.Count(raw, `"extra":[1]`) != n || strings.Count(raw, `"extra":"kept"`) != 2*n {
				t.Errorf("turn %d: the engine got %s", n, raw)
			}
		}
		var list []formats.ToolCall
		for k := range 2 {
			list = append(list, formats.ToolCall{ID: fmt.Sprintf("c%d.%d", turn, k), Name: "look", Arguments: sampled[(turn+k)%len(sampled)]})
		}
		chat = append(chat, rewritten("I look.", list...), fields{"role": "tool", "tool_call_id": list[0].ID, "content": "seen"},
			fields{"role": "tool", "tool_call_id": list[1].ID, "content": "seen"})
	}
	rec := s.End()
	breaks := 0
	for i, m := range rec.Messages {
		if m.PrefixBreak != "" || m.Branch != "" {
			breaks++
			t.Logf("message %d: %s", i, outline(m))
		}
	}
	list, problem := sequences.Of(&formats.Trajectory{Messages: rec.Messages, Calls: rec.Calls})
	if problem != nil || breaks > 0 || len(list) != 1 {
		t.Errorf("%d of %d answers broke the prefix: %d sequences, %v", breaks, turns, len(list), problem)
	}
	checkRow(t, rec)
}

// TestArgumentsThatAreNotTheSampledOnes are sent as the agent has them.
func TestArgumentsThatAreNotTheSampledOnes(t *testing.T) {
	const sampled = `{"n":9007199254740993,  "s":"a"}`
	for back, restored := range map[string]bool{
		`{"s":"a","n":9007199254740993}`:        true,
		`{"s":"a","n":9007199254740992}`:        false, // as JavaScript reads it
		`{"s":"b","n":9007199254740993}`:        false,
		`{"n":9007199254740993}`:                false,
		`{"n":9007199254740993,"s":"a"}{}`:      false,
		`{"n":9007199254740993,"s":"a","t":{}}`: false,
		sampled:                                 true,
	} {
		e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(q recordertest.Request) recordertest.Reply {
			if len(q.Messages) > 1 {
				return recordertest.Reply{Content: "done"}
			}
			return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "c", Name: "look", Arguments: sampled}}}
		}}
		s := record(t, e).Begin(context.Background(), "t", "g")
		ask(t, s, nil, user("one"))
		answer := func(id string) fields {
			return fields{"role": "assistant", "content": "",
				"tool_calls": []fields{{"id": id, "type": "function", "function": fields{"name": "look", "arguments": back}}}}
		}
		ask(t, s, nil, user("one"), answer("c"), fields{"role": "tool", "tool_call_id": "c", "content": "seen"})
		ask(t, s, nil, user("summary"), answer("c"), fields{"role": "tool", "tool_call_id": "c", "content": "seen"}) // a turn that was kept
		ask(t, s, nil, user("summary"), answer("d"), fields{"role": "tool", "tool_call_id": "d", "content": "seen"}) // another call
		for n, want := range []bool{restored, restored, back == sampled} {
			if got := e.Asked()[n+1].Messages[1].ToolCalls[0].Arguments; (got == sampled) != want || got != sampled && got != back {
				t.Errorf("%s: call %d got %s", back, n+1, got)
			}
		}
		rec := s.End()
		if got := rec.Messages[3].Branch == "" && rec.Messages[3].Sampled && rec.Messages[3].PrefixBreak == ""; got != restored {
			t.Errorf("%s: %s", back, strings.Join(outlines(rec), "\n"))
		}
		checkRow(t, rec)
	}
}

// TestEqualIDs: an engine that numbers the calls of each answer anew gets each
// call's own text.
func TestEqualIDs(t *testing.T) {
	texts := []string{`{"a": 1}`, `{"a":1}`, `{"a" :1}`}
	turn := 0
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(recordertest.Request) recordertest.Reply {
		turn++
		return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "0", Name: "look", Arguments: texts[(turn-1)%3]}}}
	}}
	s := record(t, e).Begin(context.Background(), "t", "g")
	chat := []fields{user("one")}
	for range 4 {
		ask(t, s, nil, chat...)
		chat = append(chat, rewritten("", formats.ToolCall{ID: "0", Name: "look", Arguments: `{"a":1}`}),
			fields{"role": "tool", "tool_call_id": "0", "content": "seen"})
	}
	var got []string
	for _, m := range e.Asked()[3].Messages {
		for _, c := range m.ToolCalls {
			got = append(got, c.Arguments)
		}
	}
	if rec := s.End(); !slices.Equal(got, texts) || slices.ContainsFunc(rec.Messages, func(m formats.Message) bool { return m.PrefixBreak != "" }) {
		t.Errorf("the engine got %q: %s", got, strings.Join(outlines(rec), "\n"))
	}
}
