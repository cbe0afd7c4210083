package recorder

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
)

// restore gives a request's tool calls the text of arguments that was sampled.
func (s *Session) restore(q *apis.Request) {
	changed := s.tree.Restore(q.Messages, func(c *formats.ToolCall) string { return q.API.Arguments(q, c) })
	if q.API.Translated() {
		q.SetMessages()
	} else if len(changed) > 0 {
		q.SetArguments(changed)
	}
}
