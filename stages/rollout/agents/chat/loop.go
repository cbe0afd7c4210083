package chat

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// Loop is a conversation in which the model calls tools.
type Loop struct {
	Client agents.Client
	Fields map[string]any // of each request, with the tools' definitions
	Turns  int            // after this many answers the conversation ends as truncated
	Ends   func(reply formats.Message) bool

	// Answer answers a call, and says whether the answer is an error. Its own error ends the attempt.
	Answer   func(ctx context.Context, call formats.ToolCall) (text string, failed bool, err error)
	OneByOne bool // the calls of a reply, in order; otherwise all at once
}

// Run asks the model, answers its calls, and asks again. An error is as of an agent's
// Attempt.
func (l Loop) Run(ctx context.Context, at agents.Attempt, messages []formats.Message) (agents.Result, error) {
	var result agents.Result
	for turn := 1; ; turn++ {
		reply, err := l.Client.Chat(ctx, at.HTTP, at.BaseURL, at.APIKey, at.Model, messages, l.Fields)
		if err != nil {
			return agents.Result{}, &agents.Failure{Class: outcomes.FailEngine, Err: err}
		}
		if l.Ends(reply) {
			result.Stop = outcomes.StopDone
			return result, nil
		}
		if turn == l.Turns {
			result.Stop = outcomes.StopTurns
			return result, nil
		}
		answers, failed := make([]formats.Message, len(reply.ToolCalls)), make([]bool, len(reply.ToolCalls))
		g, all := errgroup.WithContext(ctx)
		if l.OneByOne {
			g.SetLimit(1)
		}
		for i, call := range reply.ToolCalls {
			g.Go(func() error {
				text, bad, err := l.Answer(all, call)
				answers[i], failed[i] = formats.Message{Role: "tool", ToolCallID: call.ID, Content: text}, bad
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return agents.Result{}, err
		}
		for i, call := range reply.ToolCalls {
			result.ToolErrors.Add(formats.ToolErrors{call.ID: &failed[i]})
		}
		messages = append(append(messages, reply), answers...)
	}
}
