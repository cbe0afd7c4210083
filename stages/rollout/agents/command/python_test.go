package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/agents/command"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// adding calls the tool, says what it said, and is sure.
func adding(q recordertest.Request) recordertest.Reply {
	last := q.Messages[len(q.Messages)-1]
	spoken := 0
	for _, m := range q.Messages {
		if m.Role == "assistant" {
			spoken++
		}
	}
	switch {
	case last.Role == "tool":
		return recordertest.Reply{Content: "the sum is what the tool said: " + last.Content}
	case spoken == 0:
		return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "call_1", Name: "add", Arguments: `{"a": 2, "b": 3}`}}}
	}
	return recordertest.Reply{Content: "yes, I am sure"}
}

// TestRealAgents runs agents written with the frameworks that teams use,
// unchanged, and holds what is recorded of them to the engine's own log: every
// sampled token's id and logprob, and one path through the conversation.
func TestRealAgents(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(root, ".venv-agents", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skip("run testdata/agents/venv.sh for the agents' Python packages")
	}
	for _, name := range []string{"langgraph", "llamaindex", "adk"} {
		for _, mode := range []string{"whole", "stream"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				e := &recordertest.Engine{Source: formats.TokensChoice, PromptIDs: true, Script: adding}
				r := agenttest.Recorder(t, e)
				a, err := command.New(rollout.AgentConfig{Words: []string{python, filepath.Join(root, "testdata", "agents", name+"_agent.py"), mode},
					Env: []string{"LITELLM_LOCAL_MODEL_COST_MAP=True"}}) // it would ask the network for prices
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				defer cancel()
				result, rec, err := agenttest.Attempt(ctx, r, a, 1)
				if err != nil {
					t.Fatal(err)
				}
				var said struct{ Answer string }
				json.Unmarshal(result.Metadata, &said)
				if said.Answer != "yes, I am sure" {
					t.Errorf("the agent's last word is %q", said.Answer)
				}
				checkRecord(t, rec, e.Sampled())
				for i, q := range e.Asked() {
					if streams := string(q.Fields["stream"]) == "true"; streams != (mode == "stream") {
						t.Errorf("call %d: stream is %s", i, q.Fields["stream"])
					}
				}
			})
		}
	}
}

// checkRecord holds a record of one conversation to what the engine sampled.
func checkRecord(t *testing.T, rec recorder.Record, log []recordertest.Sample) {
	t.Helper()
	if rec.Unfit != nil || rec.LastCall != nil || len(rec.Calls) != 3 || len(log) != 3 || rec.TokenSource != formats.TokensChoice {
		t.Fatalf("unfit %v, last call %v, %d calls, %d sampled, source %q", rec.Unfit, rec.LastCall, len(rec.Calls), len(log), rec.TokenSource)
	}
	var roles []string
	var prompt []int32
	k := 0
	for i, m := range rec.Messages {
		roles = append(roles, m.Role)
		if int(m.Parent) != i-1 || m.Branch != "" {
			t.Errorf("message %d is on another path: %+v", i, m)
		}
		if !m.Sampled {
			continue
		}
		want := log[k]
		k++
		if !slices.Equal(m.TokenIDs, want.IDs) || !slices.Equal(m.Logprobs, want.Logprobs) {
			t.Errorf("message %d: recorded %v %v, sampled %v %v", i, m.TokenIDs, m.Logprobs, want.IDs, want.Logprobs)
		}
		if m.PrefixBreak != "" {
			prompt = nil // the delta is the whole
			if m.PrefixBreak != recorder.BreakArguments {
				t.Errorf("message %d: the prefix broke by %s", i, m.PrefixBreak)
			}
		}
		if prompt = append(prompt, m.PromptDeltaIDs...); !slices.Equal(prompt, want.Prompt) {
			t.Errorf("message %d: its prompt is not the engine's", i)
		}
		prompt = append(prompt, m.TokenIDs...)
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool assistant user assistant" || k != 3 {
		t.Errorf("%d sampled messages; the conversation is %s", k, fmt.Sprint(roles))
	}
}
