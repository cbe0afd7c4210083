package group

import (
	"context"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/formats/training"
)

// Looks says what is read of each step.
type Looks struct {
	Branches bool // steps are all messages that train, off the main path too; they have no rewards and states
	States   bool // Step.State
	State    *By  // what tells states apart (NewState); nil: all that was said
	Logprobs bool // Step.Logprobs
	Signals  bool // Step.Signals
	Forks    bool // Step.Value
}

// Credit is what training gets for a step. Message of Losses is set later.
type Credit struct {
	Value  float64   // the advantage
	Tokens []float32 // that of each of its tokens, of which Value is the mean; nil: Value
	Losses []training.MessageLoss
}

// Step is a sampled message of a trajectory's main path, unless Branches are looked at.
type Step struct {
	Message int32        // its index in messages
	Call    int32        // the index of its call
	Tokens  int32        // that its call counted; 0 if it does not train
	Reward  float64      // its shaped reward; without any, the last step has the trajectory's reward
	State   xxh3.Uint128 // digest of what was said to the model since its last message, or of Looks.State; equal states are equal
	NoState string       // why Looks.State has no value; "" if it has

	Logprobs []float32        // of its tokens, as the policy sampled them
	Signals  []formats.Signal // of its message, in the order of the scores
	Value    *float64         // mean reward of the forks that continue what is before it; nil without any
}

// columns returns those that are read of the base.
func (l Looks) columns() []string {
	columns := []string{"messages.parent", "messages.sampled", "messages.call", "calls.target", "calls.completion_tokens"}
	if l.States {
		columns = append(columns, "messages.role", "messages.name", "messages.content", "messages.content_parts")
	}
	if l.Forks {
		columns = append(columns, "trajectory_id")
	}
	if l.Logprobs {
		columns = append(columns, "messages.logprobs")
	}
	return columns
}

// steps returns the steps of a trajectory, without their rewards.
func (l *Looks) steps(ctx context.Context, t *formats.Trajectory, signals []formats.Signal) (out []Step) {
	var said []*formats.Message
	path := t.Main()
	if l.Branches {
		path = nil
		for i := range t.Messages {
			if t.Trained(i) {
				path = append(path, i)
			}
		}
	}
	for _, i := range path {
		m := &t.Messages[i]
		if !m.Sampled {
			said = append(said, m)
			continue
		}
		s := Step{Message: int32(i), Call: m.Call, Logprobs: m.Logprobs}
		if t.Trained(i) {
			s.Tokens = t.Calls[m.Call].CompletionTokens
		}
		if l.States {
			s.State, s.NoState = l.state(ctx, said)
		}
		for _, of := range signals {
			if int(of.Message) == i {
				s.Signals = append(s.Signals, of)
			}
		}
		out, said = append(out, s), said[:0]
	}
	return out
}

// said is what was said to the model since its own last message, on the main path.
type said struct {
	Messages []saidMessage `expr:"messages"`
}

type saidMessage struct {
	Role    string `expr:"role"`
	Name    string `expr:"name"`
	Content string `expr:"content"`
	Parts   string `expr:"content_parts"` // the JSON array, when content came as parts
}

// NewState compiles the expression of a flag for Looks. It reads messages: what was said
// to the model since its own last message, each with role, name, content and
// content_parts. The error is of kind usage.
func NewState(flag, text string) (*By, error) {
	return compile[said](flag, text, "write an expression over messages, such as last(messages).content")
}

// state returns the digest of a state, or why there is none.
func (l *Looks) state(ctx context.Context, messages []*formats.Message) (xxh3.Uint128, string) {
	var env said
	for _, m := range messages {
		env.Messages = append(env.Messages, saidMessage{m.Role, m.Name, m.Content, m.ContentParts})
	}
	if l.State == nil {
		return xxh3.Hash128(spill.Append(nil, &env)), ""
	}
	value, err := l.State.value(ctx, env)
	if err != nil {
		return xxh3.Uint128{}, fmt.Sprintf("%s %q: %v", l.State.flag, l.State.text, err)
	}
	return xxh3.HashString128(value), ""
}

// Length is what the base has that scores do not repeat.
type Length struct {
	SampledTokens int32  `parquet:"sampled_tokens,delta"`
	Steps         []Step `parquet:"-"` // if the estimator has Steps
	Part          string `parquet:"-"` // if it has Parts: equal in members of one part
}
