// Package builtin lists the agents that rollout can run, a folder each. To add one: a
// folder, a line in All, and a test that calls agenttest.Run.
package builtin

import (
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents/chat"
	"github.com/rollmill/rollmill/stages/rollout/agents/command"
	"github.com/rollmill/rollmill/stages/rollout/agents/harbor"
	"github.com/rollmill/rollmill/stages/rollout/agents/http"
	"github.com/rollmill/rollmill/stages/rollout/agents/nat"
	"github.com/rollmill/rollmill/stages/rollout/agents/replay"
	"github.com/rollmill/rollmill/stages/rollout/agents/verifiers"
)

// All lists every agent, in the order of the help text.
var All = plugin.NewRegistry("agent",
	chat.Kind,
	command.Kind,
	http.Kind,
	nat.Kind,
	replay.Kind,
	harbor.Kind,
	verifiers.Kind,
)
