package behaviour_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/atif"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/rows"
	"github.com/rollmill/rollmill/formats/foreign/sts"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/behaviour"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func TestConformance(t *testing.T) {
	for _, arguments := range []string{"", "checks=count|look:upto,changes=write,copy-words=1,field=n"} {
		rewardtest.Run(t, rewardtest.Suite{Kind: behaviour.Kind, Arguments: arguments})
	}
}

// tell returns a row's facts as text, without those that are 0; of null the first words of the reason.
func tell(t testing.TB, arguments string, trajectories ...*formats.Trajectory) []string {
	t.Helper()
	var all []*score.Row
	for _, x := range trajectories {
		all = append(all, &score.Row{Trajectory: x})
	}
	reward := rewardtest.New(t, behaviour.Kind, arguments)
	names, out := reward.Describe().Parts, []string{}
	for _, v := range rewardtest.Score(t, reward, all) {
		var texts []string
		for i, p := range v.Parts {
			switch {
			case (p.Value == nil) != (p.Failure != "") || (p.Value == nil) != (p.Error != ""):
				t.Errorf("%s is %+v", names[i], p)
			case p.Value == nil:
				texts = append(texts, names[i]+": "+p.Error)
			case *p.Value != 0:
				texts = append(texts, fmt.Sprintf("%s %.3g", names[i], *p.Value))
			}
		}
		out = append(out, strings.Join(texts, "\n"))
	}
	return out
}

// imported returns the rows of a file.
func imported(t testing.TB, f importers.Format, path string) (out []*formats.Trajectory) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for p, err := range foreigntest.All(f, importers.File{Name: path, R: bytes.NewReader(data), Size: int64(len(data)), Options: &importers.Options{}}) {
		if err != nil || p.Err != nil {
			t.Fatal(err, p.Err)
		}
		for i := range p.Items {
			out = append(out, &p.Items[i].Row)
		}
	}
	return out
}

// TestRealAttempts has the facts of attempts that real agents made, counted by reading them. Each attempt is twice in its group.
func TestRealAttempts(t *testing.T) {
	const foreign, noTools, cut = "../../../../formats/foreign/", "idle_turns: the record names no tool\n",
		"what came before the context was compacted or edited is not on the main path\n"
	unsaid := func(message int) string {
		return fmt.Sprintf("tool_errors_in_a_row: the record does not say whether the tool result in message %d is an error\n", message)
	}
	for _, c := range []struct {
		from importers.Format
		path string
		row  int
		want string
	}{
		// two messages after a compaction; the session's only calls of tools were before it
		{sts.Importer, foreign + "sts/testdata/claude-code.jsonl", 0, noTools + "no_check: " + cut + "copied_prompt: " + cut},
		// ls in a shell of 2025, successful; then "Hello"
		{sts.Importer, foreign + "sts/testdata/codex-2025.jsonl", 0, "no_check 1\n"},
		// SystemPrompt {"input": ""}, add {"a": 17, "b": 25} and RunnableSequence {"input": ""} are each called twice
		{atif.Importer, foreign + "atif/testdata/nat-eval.json", 0, "repeated_calls 3\n" + unsaid(2) + "no_check 1\n"},
		{rows.Importer, recorded, 23, "tool_errors_in_a_row: 1 tool calls before message 3 have no result in the record\nno_check 1\n"},
		{rows.Importer, recorded, 56, unsaid(3) + "no_check 1\n"},
		{rows.Importer, recorded, 58, "no_answer 1\nno_check 1\n"},                                     // "so", and a call of f
		{rows.Importer, recorded, 64, noTools + "no_check 1\ncopied_prompt 1\ncopied_reference 1\n"},   // "A" is answered by "a"
		{rows.Importer, recorded, 83, "repeated_calls 3\n" + unsaid(3) + "no_answer 1\nno_check 1\n"},  // look {"at": 1}, four times
		{rows.Importer, recorded, 90, unsaid(3) + "no_check 1\n"},                                      // look with "not JSON" and with JSON
		{rows.Importer, recorded, 104, "idle_turns 2\n" + unsaid(7)},                                   // two answers, a search, the last answer
		{rows.Importer, recorded, 112, "idle_turns 3\n" + unsaid(9) + "copied_prompt: " + cut},         // after a compaction: two, a search, one, the last
		{rows.Importer, recorded, 144, "idle_turns 4\n" + unsaid(9)},                                   // the sub-agent's five messages do not count
		{rows.Importer, recorded, 156, unsaid(3) + "no_check: " + cut + "copied_prompt: " + cut},       // the search is a copy
		{rows.Importer, recorded, 218, "repeated_calls 3\n" + unsaid(2) + "no_answer 1\nno_check 1\n"}, // {"a": 1}, with three kinds of spaces
	} {
		row := imported(t, c.from, c.path)[c.row]
		row.Example = `{"answer":"a"}`
		for _, got := range tell(t, "checks=search,copy-words=1", row, row) {
			if got += "\n"; got != c.want+"length_ratio 1\n" {
				t.Errorf("%s row %d:\n%s\nwant\n%s", c.path, c.row, got, c.want)
			}
		}
	}
}

const recorded = "../../../../testdata/calls/recorded.jsonl.gz"

// TestFailuresOfTools: each field that says it, what contradicts itself, and what a rollout keeps by the calls' ids.
func TestFailuresOfTools(t *testing.T) {
	const unsaid = "tool_errors_in_a_row: the record does not say whether the tool result in message 2 is an error"
	for metadata, want := range map[string]string{
		``: unsaid, `{"message_fields":{"3":{"is_error":true}}}`: unsaid, `{"message_fields":{"2":{"is_error":"true","status":"completed"}}}`: unsaid,
		`{"message_fields":{"2":{"is_error":true}}}`: "tool_errors_in_a_row 1", `{"message_fields":{"2":{"is_error":false}}}`: "",
		`{"message_fields":{"2":{"isError":true}}}`: "tool_errors_in_a_row 1", `{"message_fields":{"2":{"isError":false}}}`: "",
		`{"message_fields":{"2":{"output":{"success":false}}}}`: "tool_errors_in_a_row 1", `{"message_fields":{"2":{"output":{"success":true}}}}`: "",
		`{"message_fields":{"2":{"status":"error"}}}`: "tool_errors_in_a_row 1", `{"message_fields":{"2":{"status":"success"}}}`: "",
		`{"message_fields":{"2":{"status":"success","is_error":true}}}`: unsaid,
		`{"rollmill_tool_errors":{"c":true}}`:                           "tool_errors_in_a_row 1", `{"rollmill_tool_errors":{"c":false,"d":true}}`: "",
		`{"rollmill_tool_errors":{"c":null,"d":true}}`: unsaid, `{"rollmill_tool_errors":{"d":true}}`: unsaid, `not JSON`: unsaid,
	} {
		row := &formats.Trajectory{Metadata: metadata, Answer: "x", Example: `{"answer":"y"}`, Calls: []formats.Call{{Target: true}, {Target: true}},
			Messages: []formats.Message{{Parent: -1, Role: "user", Call: -1},
				{Parent: 0, Role: "assistant", Sampled: true, ToolCalls: []formats.ToolCall{{ID: "c", Name: "sh", Arguments: "{}"}}},
				{Parent: 1, Role: "tool", ToolCallID: "c", Call: -1}, {Parent: 2, Role: "assistant", Content: "x", Sampled: true, Call: 1}}}
		got := strings.TrimSpace(strings.TrimSuffix(tell(t, "checks=sh", row, row)[0], "length_ratio 1"))
		if got != want {
			t.Errorf("%s: %q, want %q", metadata, got, want)
		}
	}
}

func TestBadArgumentsAreNamed(t *testing.T) {
	for arguments, want := range map[string]string{"copy-words=0": "copy-words=", "check=a": `"check"`} {
		if _, err := behaviour.Kind.Make(arguments, score.Setup{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("behaviour:%s: %v", arguments, err)
		}
	}
}
