package all_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents/all"
)

func TestNew(t *testing.T) {
	config := rollout.AgentConfig{Client: openai.Client{}}
	for _, spec := range []string{"chat", "command: sh -c 'exit 0'", "command:sh"} {
		a, err := all.New(spec, config, shellquote.Split)
		if err != nil || !strings.HasPrefix(spec, a.Describe().Kind) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for spec, says := range map[string]string{"shat": `"shat"`, "command: 'sh": "Unterminated", "": `""`} {
		if _, err := all.New(spec, config, shellquote.Split); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range all.Kinds {
		if seen[k.Name] || k.Usage == "" {
			t.Errorf("agent %q", k.Name)
		}
		seen[k.Name] = true
	}
}

// TestEveryAgentConforms: the package of each that is listed hands its agent
// to the suite.
func TestEveryAgentConforms(t *testing.T) {
	source, err := os.ReadFile("all.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(\w+)\.Kind\b`).FindAllStringSubmatch(string(source), -1)
	if len(listed) != len(all.Kinds) {
		t.Fatalf("%d agents are listed by their Kind, of %d", len(listed), len(all.Kinds))
	}
	for _, m := range listed {
		files, _ := filepath.Glob("../" + m[1] + "/*_test.go")
		tried := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			tried = tried || regexp.MustCompile(`agenttest\.Run(Stored)?\(`).Match(text)
		}
		if !tried {
			t.Errorf("no test of package %s hands its agent to agenttest", m[1])
		}
	}
}
