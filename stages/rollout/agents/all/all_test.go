package all_test

import (
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
