package recorder_test

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// calls is an answer with a tool call.
func calls(tool, arguments string) recordertest.Reply {
	return recordertest.Reply{Content: "I use a tool.", ToolCalls: []formats.ToolCall{{ID: "call_" + tool, Name: tool, Arguments: arguments}}}
}

// policies are the policy's answers to agents that do not end with a text after the tool's result: to all
// of a framework, or to those of one kind.
var policies = map[string][]recordertest.Reply{
	"":                      {calls("add", `{"a":17,"b": 25}`), {Content: "It is 42."}},
	"openai-agents/handoff": {calls("transfer_to_adder", "{}"), calls("add", `{"a":17,"b": 25}`), {Content: "It is 42."}},
	"smolagents/code":       {{Content: "<code>\nprint(add(a=17, b=25))\n</code>"}, {Content: "<code>\nfinal_answer('It is 42.')\n</code>"}},
	"mini-swe-agent/text": {{Content: "I add.\n```mswea_bash_command\necho $((17 + 25))\n```"},
		{Content: "Done.\n```mswea_bash_command\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo It is 42.\n```"}},
	"qwen-agent/text": {{Content: "<tool_call>\n" + `{"name": "add", "arguments": {"a": 17, "b": 25}}` + "\n</tool_call>"}, {Content: "It is 42."}},
	"smolagents":      {calls("add", `{"a":17,"b": 25}`), calls("final_answer", `{"answer":"It is 42."}`)},
	"mini-swe-agent": {calls("bash", `{"command":"echo $((17 + 25))"}`),
		calls("bash", `{"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo It is 42."}`)},
	"instructor": {calls("Sum", `{"total":41}`), calls("Sum", `{"total": 42}`)},
	"dspy": {{Content: "[[ ## next_thought ## ]]\nI add.\n[[ ## next_tool_name ## ]]\nadd\n[[ ## next_tool_args ## ]]\n" +
		`{"a": 17, "b": 25}` + "\n[[ ## completed ## ]]"},
		{Content: "[[ ## next_thought ## ]]\nDone.\n[[ ## next_tool_name ## ]]\nfinish\n[[ ## next_tool_args ## ]]\n{}\n[[ ## completed ## ]]"},
		{Content: "[[ ## reasoning ## ]]\nThe tool said so.\n[[ ## answer ## ]]\nIt is 42.\n[[ ## completed ## ]]"}},
}

// TestFrameworks runs a small agent with a tool of each agent framework, unmodified, by the APIs of OpenAI
// and Anthropic that it speaks, whole and streaming. They take a minute, so without a COUNT only two run.
func TestFrameworks(t *testing.T) {
	agents := map[string][]cell{}
	var names []string
	for c := range cells(t) {
		name, _, _ := strings.Cut(c.name, "/")
		if agents[name] = append(agents[name], c); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { framework(t, name, agents[name]) })
	}
}

func framework(t *testing.T, name string, list []cell) {
	lock, script := list[0].row.Lock, root("testdata/frameworks/"+strings.ReplaceAll(name, "-", "_")+"_agent")
	needs := root(".venv-" + lock + "/bin/python")
	command := []string{needs, script + ".py"}
	if _, err := os.Stat(script + ".mjs"); err == nil {
		needs, command = root(".stores/"+lock+"/node_modules"), []string{"node", script + ".mjs"}
	}
	if _, err := os.Stat(needs); err != nil {
		t.Skip("no such framework: run .ci/install " + lock)
	}
	if os.Getenv("COUNT") == "" && name != "pydantic-ai" && name != "ai-sdk" {
		t.Skip("set COUNT to run every framework")
	}
	engines, sessions := make([]*recordertest.Engine, len(list)), make([]*recorder.Session, len(list))
	answers := make([][]recordertest.Reply, len(list))
	for i, c := range list {
		job := strings.TrimSuffix(strings.TrimPrefix(c.name, name+"/"), "/"+c.way) // chat, or chat/code
		_, kind, _ := strings.Cut(job, "/")
		for _, policy := range []string{name + "/" + kind, name, ""} {
			if answers[i] == nil {
				answers[i] = policies[policy]
			}
		}
		var asked atomic.Int32
		engines[i] = &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(recordertest.Request) recordertest.Reply {
			return answers[i][min(int(asked.Add(1)), len(answers[i]))-1]
		}}
		sessions[i] = record(t, engines[i]).Begin(t.Context(), "t", "g")
		command = append(command, job, c.way, sessions[i].BaseURL())
	}
	out := run(t, t.TempDir(), nil, []string{"NODE_MODULES=" + root(".stores/frameworks-node")}, command...)
	if want := strings.Repeat("It is 42.\n", len(list)); out != want {
		t.Errorf("it printed %q", out)
	}
	for i, c := range list {
		t.Run(strings.TrimPrefix(c.name, name+"/"), func(t *testing.T) {
			rec := exact(t, sessions[i], engines[i])
			for _, q := range engines[i].Asked() {
				if streams := string(q.Fields["stream"]) == "true"; streams != (c.way == "stream") {
					t.Errorf("it streams: %v", streams)
				}
			}
			if n := len(answers[i]); len(rec.Calls) != n || len(sampled(rec)) != n {
				t.Errorf("%d calls, %d answers, the policy has %d", len(rec.Calls), len(sampled(rec)), n)
			}
			told := false // of the tool's result, before its last answer
			last := rec.Messages[len(rec.Messages)-1]
			for k := last.Parent; k >= 0; k = rec.Messages[k].Parent {
				m := rec.Messages[k]
				told = told || !m.Sampled && strings.Contains(m.Content+m.ContentParts, "42")
			}
			var breaks []string
			for _, m := range rec.Messages {
				for _, b := range []string{m.Branch, m.PrefixBreak} {
					if b != "" && !slices.Contains(breaks, b) {
						breaks = append(breaks, b)
					}
				}
			}
			if !told || !last.Sampled || strings.Join(breaks, ", ") != c.row.Breaks {
				t.Errorf("told of the result: %v, breaks %q, expected %q:\n%s", told, breaks, c.row.Breaks, strings.Join(outlines(rec), "\n"))
			}
			t.Logf("%d calls, %d exact and once", len(rec.Calls), len(engines[i].Sampled()))
		})
	}
}
