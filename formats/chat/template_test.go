package chat

import "testing"

func call(arguments string) []Message {
	return []Message{{Role: "assistant", Reasoning: "hm", ToolCalls: []ToolCall{{Type: "function", ID: "1", Function: Function{"f", arguments}}}}}
}

func TestArgumentsAreObjectsInTemplates(t *testing.T) {
	for _, c := range []struct{ arguments, object, reason string }{
		{`{"a": null, "n": 18446744073709551615, "x": 0.5, "y": 1e-5, "é": "\u00e9 <&>"}`,
			`{"a":null,"n":18446744073709551615,"x":0.5,"y":1e-5,"é":"\u00e9 <&>"}`, ""},
		{"", `{}`, ""}, // as engines have it
		{`{`, `"{"`, BadArguments},
		{`null`, `"null"`, BadArguments},
		{`[1]`, `"[1]"`, BadArguments},
		{`{"half":"\ud800"}`, `"{\"half\":\"\\ud800\"}"`, BadArguments},
		{`{"n":18446744073709551616}`, `"{\"n\":18446744073709551616}"`, BadNumbers},
		{`{"deep":[0.7]}`, `"{\"deep\":[0.7]}"`, BadNumbers},
	} {
		got, reason := Template(call(c.arguments), false)
		want := `{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"type":"function","id":"1","function":{"name":"f","arguments":` +
			c.object + `}}]}`
		if string(got[0]) != want || reason != c.reason {
			t.Errorf("%s: %s %q, want %s", c.arguments, got[0], reason, want)
		}
	}
}

// What Hugging Face datasets 5.2 gives back unchanged.
func TestNumbersThatAreKept(t *testing.T) {
	for number, want := range map[string]bool{
		"0": true, "-0": true, "-9223372036854775808": true, "-9223372036854775809": false, "0.5": true, "12.25": true, "0.25e1": true, "1e5": true,
		"100.0": true,
		"-0.0":  false, "0.7": false, "1.7": false, "0.82": false, "0.12345678901": false, "1e15": false, "1e23": false, "1e400": false,
		"0.000000000006E23": false,
	} {
		if kept(number) != want {
			t.Errorf("%s: %v", number, !want)
		}
	}
}

// Rows whose messages all have the same keys are marked, so that datasets does
// not make dates of their texts.
func TestEverySecondRowIsMarked(t *testing.T) {
	for content, want := range map[string]string{
		"2024-01-01": `{"role":"user","content":"2024-01-01","json":true}`,
		"hello":      `{"role":"user","content":"hello"}`,
	} {
		if got, _ := Template([]Message{{Role: "user", Content: content}}, true); string(got[0]) != want {
			t.Errorf("%s", got[0])
		}
	}
}
