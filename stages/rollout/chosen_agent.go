package rollout

import (
	"context"

	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// MakeAgent makes the chosen agent. Its calls go through client, unless it has
// its own. lookup reads the environment of this process.
func (o *Options) MakeAgent(ctx context.Context, client agents.Client, lookup func(string) (string, bool)) error {
	_, settings, err := o.Agents.Get()
	if err == nil {
		o.Agent, err = settings.Agent(ctx,
			agents.Setup{Client: client, Model: o.Model, TargetModel: o.TargetModel, Functions: o.Functions,
				NoLogprobs: o.NoLogprobs, AcceptFinish: o.AcceptFinish,
				TrainAlternatives: o.Alternatives == TrainAlternatives, Lookup: lookup})
	}
	return err
}

// CloseAgent ends what the agent keeps running.
func (o Options) CloseAgent() error {
	if o.Agent == nil {
		return nil
	}
	return o.Agent.Close()
}

func (o Options) asksEngine() bool { return o.agent.Stored == nil }

// pays reports whether attempts call a model now.
func (o Options) pays() bool { return o.agent.Paid || o.asksEngine() }

func (o Options) atOnce() int {
	if o.agent.Limit > 0 {
		return min(o.Concurrency, o.agent.Limit)
	}
	return o.Concurrency
}
