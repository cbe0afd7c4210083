package importers_test

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// Of many messages that follow one, a search looks only at those that may be the
// one it is for.
func TestASearchLooksAtFewSiblings(t *testing.T) {
	const n = 2000
	siblings := func(i int) []formats.Message {
		call := formats.ToolCall{ID: fmt.Sprint(i), Name: "f", Arguments: "{}"}
		return []formats.Message{{Role: "user", Content: fmt.Sprint(i)}, {Role: "tool", ToolCallID: fmt.Sprint(i)},
			{Role: "user", ContentParts: fmt.Sprintf("[%d]", i)},
			{Role: "assistant", ToolCalls: []formats.ToolCall{call}},
			{Role: "assistant", ToolCalls: []formats.ToolCall{{Arguments: fmt.Sprintf(`{"a":%d}`, i)}}}}
	}
	for kind := range siblings(0) {
		var c importers.Conversation
		top, looked := c.Input(formats.Message{Role: "system"}), 0
		for i := range 2 * n {
			c.Continue(top)
			m := siblings(i % n)[kind]
			at := c.Find(&m, func(int) bool { looked++; return true })
			if want := 1 + i - n; at != max(want, -1) && (i >= n || at >= 0) {
				t.Fatalf("%v is found at %d", m, at)
			}
			if at < 0 {
				c.Input(m)
			}
		}
		if looked > n+n/10 {
			t.Errorf("of kind %d a search for %d messages looked at %d", kind, 2*n, looked)
		}
	}
}

// A call without arguments comes back with empty ones, and the other way round.
func TestNoArgumentsAreEmptyOnes(t *testing.T) {
	for _, c := range [][2]string{{"", "{}"}, {"{}", ""}, {"{ }", "{}"}} {
		var conversation importers.Conversation
		conversation.Sampled(formats.Message{Role: "assistant", ToolCalls: []formats.ToolCall{{ID: "1", Name: "f", Arguments: c[0]}}}, formats.Call{})
		conversation.Continue(-1)
		m := formats.Message{Role: "assistant", ToolCalls: []formats.ToolCall{{ID: "1", Name: "f", Arguments: c[1]}}}
		if at := conversation.Find(&m, nil); at != 0 {
			t.Errorf("%q is not found as %q", c[0], c[1])
		}
	}
}

// The first of several that are the same is found, also when its source told its
// tool calls later, and with arguments written otherwise.
func TestTheFirstIsFound(t *testing.T) {
	calls := func(arguments string) []formats.ToolCall {
		return []formats.ToolCall{{ID: "1", Name: "f", Arguments: arguments}}
	}
	var c importers.Conversation
	for _, list := range [][]formats.ToolCall{nil, calls(`{"a":"é"}`), calls(`{"a":"é"}`)} {
		c.Continue(-1)
		c.Sampled(formats.Message{Role: "assistant", ToolCalls: list}, formats.Call{})
	}
	c.Continue(-1)
	find := func(list []formats.ToolCall) int {
		return c.Find(&formats.Message{Role: "assistant", ToolCalls: list}, nil)
	}
	before := []int{find(nil), find(calls(`{ "a": "é" }`))}
	c.SetCalls(0, calls(`{"a" :"é"}`))
	if after := []int{find(nil), find(calls(`{"a":"é"}`))}; fmt.Sprint(before, after) != "[0 1] [-1 0]" {
		t.Errorf("found at %v, and then at %v", before, after)
	}
}
