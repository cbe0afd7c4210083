package group

import (
	"context"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/spill"
)

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
