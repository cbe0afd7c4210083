package builtin_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/builtin"
)

func TestNew(t *testing.T) {
	for _, spec := range []string{"chat", "chat:", " command : sh -c 'exit 0'", "command:sh"} {
		a, err := made(t, spec)
		if err != nil || !strings.HasPrefix(strings.TrimSpace(spec), a.Describe().Kind) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for spec, says := range map[string]string{"shat": `"shat"`, "command: 'sh": "Unterminated", "": `""`, "chat: x": "no arguments",
		"command": "needs a program"} {
		if _, err := made(t, spec); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// made makes the agent as --agent does.
func made(t *testing.T, spec string) (agents.Agent, error) {
	o := rollout.Options{Agents: plugin.Pick(builtin.All, "chat")}
	for _, s := range plugin.Declared(&o) {
		if s.Name == "agent" {
			if err := s.Set(spec); err != nil {
				return nil, err
			}
		}
	}
	err := o.MakeAgent(t.Context(), openai.Client{}, nil)
	return o.Agent, err
}

// TestEveryAgentConforms: the package of each that is listed hands its agent
// to the suite.
func TestEveryAgentConforms(t *testing.T) {
	source, err := os.ReadFile("builtin.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(\w+)\.Kind\b`).FindAllStringSubmatch(string(source), -1)
	if len(listed) != len(builtin.All.Names()) {
		t.Fatalf("%d agents are listed by their Kind, of %d", len(listed), len(builtin.All.Names()))
	}
	for _, m := range listed {
		files, _ := filepath.Glob("../" + m[1] + "/*_test.go")
		tried := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			tried = tried || regexp.MustCompile(`agenttest\.Run(Stored|On)?\(`).Match(text)
		}
		if !tried {
			t.Errorf("no test of package %s hands its agent to agenttest", m[1])
		}
	}
}
