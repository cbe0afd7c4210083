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
	if c, ok := o.Agent.(agents.Closer); ok {
		return c.Close()
	}
	return nil
}

func (o Options) asksEngine() bool {
	_, stored := o.Agent.(agents.Stored)
	return !stored
}

// pays reports whether attempts call a model now.
func (o Options) pays() bool {
	_, paid := o.Agent.(agents.Paid)
	return paid || o.asksEngine()
}

func (o Options) atOnce() int {
	if l, ok := o.Agent.(agents.Limited); ok && l.Limit() > 0 {
		return min(o.Concurrency, l.Limit())
	}
	return o.Concurrency
}
