package finetune

import (
	"encoding/json"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
)

func member(reward float64, messages ...formats.Message) formats.Trajectory {
	t := formats.Trajectory{Reward: &reward, Messages: messages, ToolSets: []string{`[ {"type":"function"} ]`}}
	for range messages {
		t.Calls = append(t.Calls, formats.Call{Target: true, Tools: -1})
	}
	return t
}

func ask(text string) formats.Message {
	return formats.Message{Parent: -1, Role: "user", Content: text, Call: -1}
}

func say(text string) formats.Message {
	return formats.Message{Parent: 0, Role: "assistant", Content: text, Sampled: true}
}

func TestTheBestConversation(t *testing.T) {
	tools := member(1, ask("q"), say("a"))
	tools.Calls[0].Tools = 0
	damaged := member(1, ask("q"), say("a"))
	damaged.Calls[0].Tools, damaged.ToolSets = 0, []string{"[{"}
	for want, rows := range map[string][]formats.Trajectory{
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"good"}]}`: {member(0, ask("q"), say("bad")),
			member(1, ask("q"), say("good"))},
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"tools":[{"type":"function"}]}`: {tools},
	} {
		c, reason := ConversationOf(rows)
		if got, err := json.Marshal(c); string(got) != want || reason != "" || err != nil {
			t.Errorf("%s %q, want %s", got, reason, want)
		}
	}
	for want, row := range map[string]formats.Trajectory{Blank: member(1, ask("q"), say("")),
		trainset.Empty: member(1, ask("q")), Tools: damaged} {
		if _, reason := ConversationOf([]formats.Trajectory{row}); reason != want {
			t.Errorf("%q, want %q", reason, want)
		}
	}
}

func TestPromptsThatCanBeAnswered(t *testing.T) {
	for _, c := range []struct {
		prompt []CustomizerMessage
		asks   bool
	}{
		{[]CustomizerMessage{{"user", "q"}}, true},
		{[]CustomizerMessage{{"system", "s"}, {"user", "q"}}, true},
		{[]CustomizerMessage{{"user", ""}}, false},
		{[]CustomizerMessage{{"user", "q"}, {"system", "s"}}, false},
		{nil, false},
	} {
		if (CustomizerPreference{Prompt: c.prompt}).Asks() != c.asks {
			t.Errorf("%+v", c)
		}
	}
}

func TestReasonsOfSkippedPairs(t *testing.T) {
	called := say("a")
	called.ToolCalls = []formats.ToolCall{{ID: "1", Name: "f"}}
	for want, rows := range map[string][]formats.Trajectory{
		"":    {member(1, ask("q"), say("a")), member(0, ask("q"), say("b"))},
		Tools: {member(1, ask("q"), called), member(0, ask("q"), say("b"))},
		Blank: {member(1, ask("q"), say("")), member(0, ask("q"), say("b"))},
	} {
		pair, reason := trainset.Pair(rows)
		if reason == "" {
			_, reason = CustomizerPreferenceOf(pair)
		}
		if reason != want {
			t.Errorf("%q, want %q", reason, want)
		}
	}
}
