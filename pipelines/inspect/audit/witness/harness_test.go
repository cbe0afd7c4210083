package witness_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/foreign/sts"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/pipelines/inspect/audit/witness"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// session runs a coding agent of .stores through the recorder, and returns the recorded attempt and the agent's own
// session logs.
func session(t *testing.T, name, logs string, call formats.ToolCall, tool string, command func(url string) (args, environ []string)) (own []formats.Trajectory, files []string) {
	t.Helper()
	program := ""
	for _, store := range []string{"harnesses", "coder"} {
		path, _ := filepath.Abs("../../../../.stores/" + store + "/node_modules/.bin/" + name)
		if _, err := os.Stat(path); err == nil {
			program = path
		}
	}
	if program == "" {
		t.Skip("no coding agents: run .ci/install harnesses")
	}
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true}
	e.Script = func(q recordertest.Request) recordertest.Reply {
		results := 0
		for _, m := range q.Messages {
			if m.Role == "tool" {
				results++
			}
		}
		switch {
		case !strings.Contains(string(q.Fields["tools"]), `"`+tool+`"`):
			return recordertest.Reply{Content: "A title"}
		case results < 2:
			again := call
			again.ID = fmt.Sprint(call.ID, results)
			return recordertest.Reply{Content: fmt.Sprint("I use a tool, ", results), ToolCalls: []formats.ToolCall{again}}
		}
		return recordertest.Reply{Content: "It is made."}
	}
	e.Start(t)
	r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{e.URL()}, Backoff: time.Millisecond},
		Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	id := formats.TrajectoryID("run", "task", 0, 0)
	s := r.Begin(t.Context(), id, "task")
	dir := t.TempDir()
	args, environ := command(s.BaseURL())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p := exec.CommandContext(ctx, program, args...)
	p.Dir = dir
	p.Env = append(append(os.Environ(), "PWD="+dir, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_STATE_HOME="+dir), environ...)
	p.Env = append(p.Env, agents.Attempt{BaseURL: s.BaseURL(), APIKey: "rollmill", Model: "policy"}.Environ()...)
	if out, err := p.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rec := s.End()
	row := formats.Trajectory{TrajectoryID: id, Run: "run", ExampleID: "task", Example: `{"id":"task"}`, Messages: rec.Messages, Calls: rec.Calls,
		ToolSets: rec.ToolSets, TokenSource: rec.TokenSource, Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Model: "policy", Attempts: 1}
	row.SetTotals()
	row.SetPayloadDigest()
	filepath.WalkDir(filepath.Join(dir, logs), func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, string(text))
		}
		return nil
	})
	return []formats.Trajectory{row}, files
}

func logged(uri string, files []string) convert.ImportOptions {
	o := convert.ImportDefaults()
	o.Format, o.Run = sts.Importer, "harness"
	o.Out.URI, o.Source.Role, o.Source.URI = uri, "source", "files"
	for i, text := range files {
		o.Files = append(o.Files, convert.File{Name: fmt.Sprint(i, ".jsonl"), URI: fmt.Sprint(i, ".jsonl"), Open: func(context.Context) (convert.Content, error) {
			return content{strings.NewReader(text)}, nil
		}})
	}
	return o
}

// TestCodingAgents compares what the recorder recorded of coding agents with their own session logs, and with logs
// of which a text was changed and the last answer cut off.
func TestCodingAgents(t *testing.T) {
	for _, agent := range []struct {
		name, logs, tool string
		call             formats.ToolCall
		command          func(url string) (args, environ []string)
	}{
		{"claude", ".claude/projects", "Bash", formats.ToolCall{ID: "call_", Name: "Bash", Arguments: `{"command": "echo made", "description":"Make it"}`},
			func(string) ([]string, []string) {
				return []string{"-p", "Make it.", "--model", "policy", "--allowedTools", "Bash"}, []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
			}},
		{"codex", ".codex/sessions", "exec_command", formats.ToolCall{ID: "call_", Name: "exec_command", Arguments: `{"cmd": "echo made"}`},
			func(url string) ([]string, []string) {
				provider := fmt.Sprintf(`model_providers.rollmill={name="rollmill",base_url=%q,env_key="OPENAI_API_KEY",wire_api="responses"}`, url)
				return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", "model_provider=rollmill", "-c", provider,
					"-m", "policy", "Make it."}, nil
			}},
	} {
		t.Run(agent.name, func(t *testing.T) {
			rows, files := session(t, agent.name, agent.logs, agent.call, agent.tool, agent.command)
			own := write(t, "mem://sessions-"+agent.name+"/own", rows)
			check := func(name string, files []string, want ...string) {
				t.Helper()
				o := logged("mem://sessions-"+agent.name+"/"+name, files)
				if _, err := convert.Import(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				facts, found, err := witness.Run(t.Context(), witness.Options{In: own, Against: open(t, o.Out.URI)})
				if err != nil || facts.ByContent != 1 {
					t.Fatal(err, facts)
				}
				var got []string
				for _, f := range found {
					if f.Check != "witness_silent" && f.Check != "witness_prompts" { // logs have no tokens, and prompts in other words
						got = append(got, fmt.Sprintf("%s %d %s", f.Check, f.Count, f.What))
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s\n%s\n%s", diff, facts, listed(found))
				}
				for _, c := range facts.Compared {
					if c.Both == 0 && slices.Contains([]string{"tool calls", "tool results", "answers", "completion tokens"}, c.What) {
						t.Errorf("%s are not compared", c.What)
					}
				}
			}
			check("log", files)
			changed, cut := slices.Clone(files), slices.Clone(files)
			for i, text := range files {
				changed[i] = strings.ReplaceAll(text, "I use a tool, 1", "I use no tool")
				lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.Contains(line, "It is made.") })
				cut[i] = strings.Join(lines, "")
			}
			check("changed", changed, "witness_answers 1 answers: the records differ")
			check("cut", cut, "witness_calls 1 calls: only the other record has them: 1 the last")
		})
	}
}
