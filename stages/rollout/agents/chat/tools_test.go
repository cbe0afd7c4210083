package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/agents/chat"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestMain is also the tool that the agents under test run.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "tool" {
		arguments, _ := io.ReadAll(os.Stdin)
		fmt.Fprintln(os.Stderr, "asked for", os.Getenv("ROLLMILL_TOOL"))
		if os.Args[2] == "breaks" {
			os.Exit(3)
		}
		fmt.Println(os.Getenv("ROLLMILL_TOOL"), os.Getenv("ROLLMILL_EXAMPLE_ID"), strings.TrimSpace(string(arguments)))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func withTools(t *testing.T, change func(*chat.Settings)) agents.Agent {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := chat.Settings{Tools: filepath.Join(t.TempDir(), "tools.json"), Programs: chat.Programs{
		{Name: "look", Words: []string{self, "tool", "works"}}, {Name: "broken", Words: []string{self, "tool", "breaks"}},
	}}
	const definitions = `[{"type":"function","function":{"name":"look","description":"look around","parameters":{"type":"object"}}}, {"name":"broken"}]`
	if err := os.WriteFile(s.Tools, []byte(definitions), 0o600); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s)
	}
	a, err := s.Agent(t.Context(), agents.Setup{Client: openai.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// script answers turn by turn.
func script(turns ...recordertest.Reply) func(recordertest.Request) recordertest.Reply {
	return func(q recordertest.Request) recordertest.Reply {
		n := 0
		for _, m := range q.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		return turns[min(n, len(turns)-1)]
	}
}

func calls(list ...formats.ToolCall) recordertest.Reply { return recordertest.Reply{ToolCalls: list} }

func TestToolContract(t *testing.T) {
	agenttest.Run(t, chat.Kind, func(t *testing.T) agents.Agent { return withTools(t, nil) })
}

// TestToolsAreCalled: parallel calls, a tool that fails, one that is not
// there, and arguments that are not JSON, each answered by its id; the
// conversation is one path with the engine's tokens.
func TestToolsAreCalled(t *testing.T) {
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: script(
		calls(formats.ToolCall{ID: "c1", Name: "look", Arguments: `{"at":1}`}, formats.ToolCall{ID: "c2", Name: "broken", Arguments: ``}),
		calls(formats.ToolCall{ID: "c3", Name: "fly", Arguments: `{}`}, formats.ToolCall{ID: "c4", Name: "look", Arguments: `{"at":`}),
		recordertest.Reply{Content: "done"},
	)}
	logs := t.TempDir()
	a := withTools(t, func(s *chat.Settings) { s.Logs = logs })
	result, rec, err := agenttest.Attempt(context.Background(), agenttest.Recorder(t, e), a, 5)
	if err != nil || result.Stop != outcomes.StopDone || rec.Untrainable != nil {
		t.Fatalf("%v %+v %v", err, result, rec.Untrainable)
	}
	if said, _ := json.Marshal(result.ToolErrors); string(said) != `{"c1":false,"c2":true,"c3":true,"c4":true}` {
		t.Errorf("the results of tools: %s", said)
	}
	var got []string
	for i, m := range rec.Messages {
		if int(m.Parent) != i-1 || m.Branch != "" || m.PrefixBreak != "" {
			t.Errorf("message %d: %+v", i, m)
		}
		if m.Role == "tool" {
			got = append(got, m.ToolCallID+" "+m.Content)
		}
	}
	if len(got) != 4 || got[0] != `c1 look ex-5 {"at":1}` || !strings.HasPrefix(got[1], "c2 error: ") || !strings.Contains(got[1], "exit status 3") ||
		got[2] != `c3 error: there is no tool "fly"` || got[3] != "c4 error: the arguments are not JSON" {
		t.Errorf("%q", got)
	}
	var all []int32
	for _, m := range rec.Messages {
		all = append(append(all, m.PromptDeltaIDs...), m.TokenIDs...)
	}
	last := e.Sampled()[2]
	if d := cmp.Diff(append(append([]int32{}, last.Prompt...), last.IDs...), all); d != "" {
		t.Error(d)
	}
	if len(rec.ToolSets) != 1 || !strings.Contains(rec.ToolSets[0], "look around") || !strings.Contains(rec.ToolSets[0], `"broken"`) {
		t.Errorf("tools %q", rec.ToolSets)
	}
	log, err := os.ReadFile(filepath.Join(logs, formats.TrajectoryID("run", "ex-5", 0, 0)+".stderr"))
	if err != nil || !strings.Contains(string(log), "asked for look") || !strings.Contains(string(log), "asked for broken") {
		t.Errorf("%v %s", err, log)
	}
}

func TestHowConversationsEnd(t *testing.T) {
	look := formats.ToolCall{ID: "c", Name: "look", Arguments: `{}`}
	always := script(recordertest.Reply{Content: "FINAL perhaps", ToolCalls: []formats.ToolCall{look}})
	for name, c := range map[string]struct {
		script func(recordertest.Request) recordertest.Reply
		change func(*chat.Settings)
		calls  int
		stop   string
	}{
		"turns":     {always, func(s *chat.Settings) { s.Turns = 3 }, 3, outcomes.StopTurns},
		"match":     {always, func(s *chat.Settings) { s.StopMatch = `^FINAL\b` }, 1, outcomes.StopDone},
		"stop tool": {always, func(s *chat.Settings) { s.StopTools = []string{"look"} }, 1, outcomes.StopDone},
		"no program": {script(calls(look), calls(formats.ToolCall{ID: "d", Name: "submit", Arguments: `{}`})), func(s *chat.Settings) {
			s.Tools, s.StopTools = "", []string{"submit"}
		}, 2, outcomes.StopDone},
	} {
		e := &recordertest.Engine{Source: schema.TokensChoice, Script: c.script}
		result, rec, err := agenttest.Attempt(context.Background(), agenttest.Recorder(t, e), withTools(t, c.change), 1)
		if err != nil || result.Stop != c.stop || len(rec.Calls) != c.calls {
			t.Errorf("%s: %v, stop %q after %d calls", name, err, result.Stop, len(rec.Calls))
		}
	}
}

func TestBadToolsAreRefused(t *testing.T) {
	none := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(none, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]chat.Settings{
		"no program":   {Programs: chat.Programs{{Name: "a"}}},
		"or another's": {Programs: chat.Programs{{Name: "a", Words: []string{"sh"}}, {Name: "a", Words: []string{"sh"}}}},
		"not found":    {Programs: chat.Programs{{Name: "a", Words: []string{"no-such-program-anywhere"}}}},
		"not among":    {Tools: none, StopTools: []string{"submit"}},
		"--stop-match": {StopMatch: "("},
	} {
		_, err := s.Agent(t.Context(), agents.Setup{Client: openai.Client{}})
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Usage || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
