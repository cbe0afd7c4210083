package recorder

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// storedResponse is what one response added to a conversation. Engines that are
// asked for chat completions store none, so the session does.
type storedResponse struct {
	previous string
	messages []formats.Message
}

// storedMessages returns the input and the answers of a response and those before it.
func (s *Session) storedMessages(id string) (list []formats.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var turns []storedResponse
	for id != "" {
		t, known := s.stored[id]
		if !known {
			return nil, fmt.Errorf("previous_response_id: this trajectory has no response %q that was stored", id)
		}
		turns, id = append(turns, t), t.previous
	}
	for _, t := range slices.Backward(turns) {
		list = append(list, t.messages...)
	}
	return list, nil
}

// storeResponse remembers a response, unless the agent asked not to store it.
func (s *Session) storeResponse(q *request, a *answer) {
	if !q.responses.store || len(a.choices) == 0 {
		return
	}
	if s.stored == nil {
		s.stored = map[string]storedResponse{}
	}
	m := a.choices[0].message
	s.stored[q.responses.id] = storedResponse{q.previous,
		append(slices.Clone(q.responses.items),
			formats.Message{Role: "assistant", Content: m.Content, ContentParts: m.ContentParts,
				Reasoning: m.Reasoning, ToolCalls: m.ToolCalls, Parent: -1, Call: -1})}
}
