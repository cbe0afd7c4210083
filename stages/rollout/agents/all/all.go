// Package all lists the agents that rollout can run. It is the one place to
// change when an agent is added.
package all

import (
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents/chat"
	"github.com/rollmill/rollmill/stages/rollout/agents/command"
	"github.com/rollmill/rollmill/stages/rollout/agents/http"
	"github.com/rollmill/rollmill/stages/rollout/agents/nat"
	"github.com/rollmill/rollmill/stages/rollout/agents/replay"
)

// Kinds is every agent, in the order of the help text.
var Kinds = []rollout.AgentKind{chat.Kind, command.Kind, http.Kind, nat.Kind, replay.Kind}

// New makes the agent that a specification names: "KIND" or "KIND: ARGUMENTS",
// the arguments split by split as a shell would.
func New(spec string, c rollout.AgentConfig, split func(string) ([]string, error)) (rollout.Agent, error) {
	name, arguments, _ := strings.Cut(spec, ":")
	words, err := split(arguments)
	if err != nil {
		return nil, stages.Errorf(stages.KindUsage, "quote the arguments as in a shell", "rollout: agent %q: %w", spec, err)
	}
	c.Words = words
	for _, k := range Kinds {
		if k.Name == strings.TrimSpace(name) {
			return k.New(c)
		}
	}
	return nil, stages.Errorf(stages.KindUsage, "agents are "+names(), "rollout: no agent is called %q", name)
}

func names() string {
	var out []string
	for _, k := range Kinds {
		out = append(out, fmt.Sprintf("%q", k.Name))
	}
	return strings.Join(out, ", ")
}
