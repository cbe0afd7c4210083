package foreign

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// imported returns the rows of a file of chat messages.
func imported(t testing.TB, name, data string, columns map[string]string) (rows []formats.Trajectory) {
	t.Helper()
	for p, err := range foreigntest.All(chat.Importer, importers.File{Name: name, R: strings.NewReader(data), Size: int64(len(data)),
		Options: &importers.Options{Map: columns}}) {
		if err = cmp.Or(err, p.Err); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		for i := range p.Items {
			rows = append(rows, p.Items[i].Row)
			rows[len(rows)-1].TrajectoryID = "t" + string(rune('0'+len(rows)))
		}
	}
	return rows
}

// exported returns what a format makes of rows, and the reasons for what it leaves out.
func exported(t testing.TB, name string, rows []formats.Trajectory) (string, string) {
	t.Helper()
	for _, f := range Exporters {
		if f.Name != name {
			continue
		}
		var out bytes.Buffer
		pass := exporters.NewPass(exporters.Exports([]exporters.Format{f})[:1], trainset.Choice{Best: -1}, formats.Tables{}, exporters.Place{
			Begin: func(string) (io.Writer, error) { return &out, nil },
			Drop:  func(_ exporters.File, _ *exporters.Item, part string) { t.Errorf("%s drops %s", name, part) }})
		defer pass.Close()
		if err := pass.Add(rows, true); err != nil {
			t.Fatal(err)
		}
		if err := pass.Writers[0].End(); err != nil {
			t.Fatal(err)
		}
		return out.String(), pass.Writers[0].Skipped.String()
	}
	t.Fatalf("no format %s", name)
	return "", ""
}

const ask = `{"role":"user","content":"QQQ"}`

// TestNothingUnreadTrains: what trl-sft writes of a row, or why it leaves it out.
func TestNothingUnreadTrains(t *testing.T) {
	for name, c := range map[string]struct{ row, want, skipped string }{
		"a row of weight 0":       {row: `{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"weight":0}`, skipped: "unread_mask 1"},
		"a row that is skipped":   {row: `{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"skip":true}`, skipped: "unread_mask 1"},
		"a row of weight 0.5":     {row: `{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"weight":0.5,"skip":false}`, want: `"A"`},
		"a message to exclude":    {row: `{"messages":[` + ask + `,{"role":"assistant","content":"A","exclude":true}]}`, skipped: "unread_mask 1"},
		"a row not for training":  {row: `{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"use_for_training":false}`, skipped: "unread_mask 1"},
		"a row without training":  {row: `{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"no_train":true}`, skipped: "unread_mask 1"},
		"a row of no constraints": {row: `{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"constrained":false,"is_pretrained":false,"in_train":true}`, want: `"A"`},
		"a screenshot":            {row: `{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"screenshot":"iVBORw0KGgo="}`, skipped: "content_parts 1"},
		"a file of any name": {row: `{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"files":[{"name":"a.pdf","body":"data:application/pdf;base64,AAAA"}]}`,
			skipped: "content_parts 1"},
		"attachments": {row: `{"messages":[{"role":"user","content":"Q","attachments":["a.pdf"]},{"role":"assistant","content":"A"}]}`,
			skipped: "content_parts 1"},
		"arguments named args": {`{"messages":[` + ask + `,{"role":"assistant","content":"","tool_calls":[{"name":"w","args":{"city":"Rome"},"id":"c1","type":"tool_call"}]}]}`,
			`"arguments":{"city":"Rome"}`, ""},
		"arguments in the call's input": {`{"messages":[` + ask + `,{"role":"assistant","content":"","tool_calls":[{"function":{"name":"w","input":{"city":"Rome"}}}]}]}`,
			`"arguments":{"city":"Rome"}`, ""},
		"arguments elsewhere":             {`{"messages":[` + ask + `,{"role":"assistant","content":"","tool_calls":[{"name":"w","payload":{"city":"Rome"}}]}]}`, "", "no_arguments 1"},
		"no arguments of a function_call": {`{"messages":[` + ask + `,{"role":"assistant","content":"","function_call":{"name":"w","payload":{}}}]}`, "", "no_arguments 1"},
		"nulls of plain JSON": {`{"messages":[` + ask + `,{"role":"assistant","content":null,"refusal":null,"function_call":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"w","arguments":{"city":"Rome","unit":null}}}]}]}`,
			`"arguments":{"city":"Rome","unit":null}`, ""},
		"defaults of tools": {`{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"tools":[{"type":"function","function":{"name":"w","parameters":{"properties":{"u":{"default":null}}}}}]}`,
			`\"default\":null`, ""},
		"bare tools": {`{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"tools":[{"name":"w","parameters":{}}]}`,
			`[{\"type\":\"function\",\"function\":{\"name\":\"w\"`, ""},
		"an empty tool as text": {`{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"tools":["{}"]}`, `"content":"A"`, ""},
		"a demonstration":       {`{"messages":[` + ask + `,{"role":"assistant","content":"BAD","is_demo":true},` + ask + `,{"role":"assistant","content":"A"}]}`, "", "the policy did not sample every answer (others 1)"},
		"a step mask":           {`{"messages":[` + ask + `,{"role":"assistant","content":"BAD","step_loss_mask":0},` + ask + `,{"role":"assistant","content":"A"}]}`, "", "the policy did not sample every answer (others 1)"},
		"a loss scale":          {`{"messages":[` + ask + `,{"role":"assistant","content":"BAD","loss_scale":0.0},` + ask + `,{"role":"assistant","content":"A"}]}`, "", "the policy did not sample every answer (others 1)"},
		"half a weight":         {`{"messages":[` + ask + `,{"role":"assistant","content":"A","loss_weight":0.5}]}`, "", "message_weights 1"},
		"a measured loss":       {`{"messages":[` + ask + `,{"role":"assistant","content":"A","loss":0.5}]}`, `"content":"A"`, ""},
		"an unknown mask":       {`{"messages":[` + ask + `,{"role":"assistant","content":"BAD","sft-mask":[0,1]}]}`, "", "unread_mask 1"},
		"masks beside":          {`{"messages":[` + ask + `,{"role":"assistant","content":"BAD"}],"turn_loss_mask":[0,0]}`, "", "unread_mask 1"},
		"parts of Gemini":       {`{"messages":[` + ask + `,{"role":"assistant","parts":[{"text":"A"}]}]}`, "", "empty_answer 1"},
		"calls of LangChain in the middle": {`{"messages":[` + ask + `,{"role":"assistant","content":"","additional_kwargs":{"tool_calls":[{}]}},` + ask + `,{"role":"assistant","content":"A"}]}`,
			"", "empty_answer 1"},
		"a text named value":      {`{"messages":[` + ask + `,{"role":"assistant","content":[{"type":"text","value":"AAA"}]}]}`, `"content":"AAA"`, ""},
		"texts with a cache mark": {`{"messages":[{"role":"user","content":[{"type":"text","text":"Q1","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Q2"}]},{"role":"assistant","content":"A"}]}`, `"content":"Q1\nQ2"`, ""},
		"images beside":           {`{"messages":[{"role":"user","content":"<image>QQQ"},{"role":"assistant","content":"A"}],"images":["a/1.jpg"]}`, "", "content_parts 1"},
		"an image beside":         {`{"conversations":[{"from":"human","value":"<image>QQQ"},{"from":"gpt","value":"A"}],"image":"a/1.jpg"}`, "", "content_parts 1"},
		"images in a message":     {`{"messages":[{"role":"user","content":"QQQ","images":["a/1.jpg"]},{"role":"assistant","content":"A"}]}`, "", "content_parts 1"},
		"a sound in what was asked for": {`{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"request":{"metadata":{"audio_data":"data:audio/wav;base64,AAAA"}}}`,
			"", "content_parts 1"},
		"images in a list deeper": {`{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"extra":{"images":["data:image/png;base64,AAAA"]}}`, "", "content_parts 1"},
		"the name of a container": {`{"messages":[` + ask + `,{"role":"assistant","content":"A"}],"task":{"image":"ubuntu","page":"data:text/html,A"}}`, `"content":"A"`, ""},
		"a prompt beside":         {`{"prompt":"PPP","messages":[` + ask + `,{"role":"assistant","content":"A"}]}`, "", "unread_history 1"},
		"the prompt again":        {`{"prompt":"QQQ","messages":[` + ask + `,{"role":"assistant","content":"A"}]}`, `"content":"A"`, ""},
		"history beside messages": {`{"history":[["HHH","III"]],"messages":[` + ask + `,{"role":"assistant","content":"A"}]}`, "", "unread_history 1"},
		"history of a prompt":     {`{"history":[["HHH","III"]],"prompt":"QQQ","completion":"A"}`, `"III"`, ""},
		"history of a label":      {`{"history":[["HHH","III"]],"prompt":"QQQ","completion":"A","label":true}`, "", "the policy did not sample every answer (others 1)"},
		"parallel turns": {`{"conversations":[{"from":"human","value":"QQQ"},{"from":"function_call","value":"{\"name\":\"f\",\"arguments\":{\"a\":1}}"},{"from":"function_call","value":"{\"name\":\"g\",\"arguments\":{}}"},{"from":"observation","value":"1"},{"from":"observation","value":"2"},{"from":"gpt","value":"A"}]}`,
			`{"type":"function","id":"call_1_0","function":{"name":"f","arguments":{"a":1}}},{"type":"function","id":"call_1_1","function":{"name":"g","arguments":{}}}]`, ""},
		"reasoning": {`{"messages":[` + ask + `,{"role":"assistant","content":"A","reasoning_content":"RRR"}]}`, `"reasoning_content":"RRR"`, ""},
	} {
		got, skipped := exported(t, "trl-sft", imported(t, "x.jsonl", c.row, nil))
		if skipped != c.skipped || !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q; %s", name, skipped, c.skipped, got)
		}
	}
}

// TestMasksLeaveWithChat: chat writes the weight of what does not train, and reads it back.
func TestMasksLeaveWithChat(t *testing.T) {
	row := `{"messages":[` + ask + `,{"role":"assistant","content":"BAD","weight":0},` + ask + `,{"role":"assistant","content":"A","weight":0.5}]}`
	for range 2 {
		rows := imported(t, "x.jsonl", row, nil)
		if r := rows[0]; r.Trained(1) || !r.Trained(3) || len(r.Losses) != 1 || r.Losses[0].Weight != 0.5 || r.Losses[0].Message != 3 {
			t.Fatalf("%+v", r)
		}
		row, _ = exported(t, "chat", rows)
		if !strings.Contains(row, `"content":"BAD","weight":0}`) || !strings.Contains(row, `"content":"A","weight":0.5}`) {
			t.Fatal(row)
		}
	}
}

// TestReasoningLeavesOrIsRefused by every format of answers.
func TestReasoningLeavesOrIsRefused(t *testing.T) {
	rows := imported(t, "x.jsonl", `{"messages":[`+ask+`,{"role":"assistant","content":"A","reasoning_content":"RRR"}],"reward":1}
{"messages":[`+ask+`,{"role":"assistant","content":"B","reasoning_content":"SSS"}],"reward":0}`, nil)
	for _, f := range Exporters {
		if f.For != exporters.Training || f.Of == exporters.Groups || f.Loss != "" {
			continue
		}
		if got, skipped := exported(t, f.Name, rows); !strings.Contains(got, "RRR") && !strings.Contains(skipped, "reasoning") {
			t.Errorf("%s: %s %s", f.Name, skipped, got)
		}
	}
}

// TestNullsThatDatasetsAdded are told by the calls of other rows; one function's nulls
// are its own.
func TestNullsThatDatasetsAdded(t *testing.T) {
	call := func(name, arguments string) string {
		return `{"messages":[{"role":"user","content":"QQQ","tool_calls":null},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"` +
			name + `","arguments":` + arguments + `}}]}]}` + "\n"
	}
	for name, c := range map[string]struct{ data, want string }{
		"datasets": {call("f", `{"city":"Rome","id":null}`) + call("g", `{"city":null,"id":1}`), `{"city":"Rome"} {"id":1}`},
		"one":      {call("f", `{"city":"Rome","id":null}`) + call("f", `{"city":null,"id":1}`), `{"city":"Rome","id":null} {"city":null,"id":1}`},
		"plain":    {call("f", `{"city":"Rome","id":null}`) + call("g", `{"id":1}`), `{"city":"Rome","id":null} {"id":1}`},
	} {
		rows := imported(t, "x.jsonl", c.data, nil)
		if got := rows[0].Messages[1].ToolCalls[0].Arguments + " " + rows[1].Messages[1].ToolCalls[0].Arguments; got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestHintsDropNothing: what a hint suggests reads all of the row.
func TestHintsDropNothing(t *testing.T) {
	for row, want := range map[string]string{
		`{"query":"QQQ","response":"A","history":[["HHH","III"]]}`:                            "(try --map prompt=query --map completion=response)",
		`{"query":"QQQ","response":"A","earlier_turns":[["HHH","III"]]}`:                      "(name them with --map NAME=COLUMN)",
		`{"source":"agent","observation":"run","content":"ooo","tool_call_metadata":{}}`:      "(an event of OpenHands: import",
		`{"source":"user","llm_message":{"role":"user","content":[]},"kind":"MessageEvent"}`:  "(an event of OpenHands: import",
		`{"source":"agent","system_prompt":{"text":"SSS"},"kind":"SystemPromptEvent"}`:        "(an event of OpenHands: import",
		`{"instruction":"QQQ","output":"A","history":[{"source":"user","action":"message"}]}`: "(an event of OpenHands: import",
		`{"type":"tool","content":"ooo","tool_call_id":"c"}`:                                  "the row is a message",
		`{"role":"user","content":"QQQ"}`:                                                     "the row is a message",
		`{"contents":[{"role":"user","parts":[{"text":"QQQ"}]},{"role":"model","parts":[]}]}`: "(name them with --map NAME=COLUMN)",
		`{"dialog":[{"role":"user","content":"QQQ"},{"role":"assistant","content":"A"}]}`:     "(try --map messages=dialog)",
	} {
		p := chat.Importer.Convert(importers.Record{Data: []byte(row)})
		if p.Err == nil || !strings.Contains(p.Err.Error(), want) {
			t.Errorf("%s: %v, want %s", row, p.Err, want)
		}
	}
	rows := imported(t, "x.jsonl", `{"query":"QQQ","response":"A","history":[["HHH","III"]]}`, map[string]string{"prompt": "query", "completion": "response"})
	if m := rows[0].Messages; len(m) != 4 || m[0].Content != "HHH" || m[1].Content != "III" || !m[1].Sampled || m[2].Content != "QQQ" || !m[3].Sampled {
		t.Errorf("%+v", m)
	}
}

// TestTokensOfEachAnswer: a column may have a list of tokens for each answer.
func TestTokensOfEachAnswer(t *testing.T) {
	const row = `{"messages":[` + ask + `,{"role":"assistant","content":"a"},` + ask + `,{"role":"assistant","content":"b"}],` +
		`"prompt_token_ids":[[1,2],[1,2,3,4,5]],"completion_token_ids":[[3,4],[6]],"logprobs":[[-0.5,-1],[-2]]}`
	m := imported(t, "x.jsonl", row, nil)[0].Messages
	if got := fmt.Sprint(m[1].PromptDeltaIDs, m[1].TokenIDs, m[1].Logprobs, m[3].PromptDeltaIDs, m[3].TokenIDs, m[3].Logprobs, m[3].PrefixBreak); got !=
		"[1 2] [3 4] [-0.5 -1] [5] [6] [-2]" {
		t.Error(got)
	}
	for p, err := range foreigntest.All(chat.Importer, importers.File{Name: "x.jsonl", R: strings.NewReader(strings.Replace(row, "],[6]]", "]]", 1)), Options: &importers.Options{}}) {
		if err = cmp.Or(err, p.Err); err == nil || !strings.Contains(err.Error(), `"completion_token_ids" has tokens of 1 answer, but the row has 2 sampled messages`) {
			t.Error(err)
		}
	}
}
