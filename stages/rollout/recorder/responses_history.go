package recorder

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// storedResponse is what one response added to a conversation. Engines that are
// asked for chat completions store none, so the session does.
type storedResponse struct {
	previous *storedResponse // that it continued, or nil
	input    [][]byte        // items
	answer   formats.Message
	body     []byte // as the agent got it
}

// storedResponse returns a response by its id; nil without an error if the id is empty.
func (s *Session) storedResponse(id string) (*storedResponse, error) {
	if id == "" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.stored[id]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("this trajectory has no response %q that was stored", id)
}

// messages returns the input and the answers of a response and those before it.
func (r *storedResponse) messages() (list []formats.Message) {
	var chain []*storedResponse
	for ; r != nil; r = r.previous {
		chain = append(chain, r)
	}
	for _, r := range slices.Backward(chain) {
		var t inputReader
		for _, raw := range r.input {
			t.item(jsontext.ParseObject(raw)) // it was read before
		}
		list = append(append(list, t.messages...), r.answer)
	}
	return list
}

// storeResponse remembers a response as the agent gets it, unless the agent asked not
// to store it.
func (s *Session) storeResponse(q *request, a *answer, body []byte) {
	if !q.responses.store || len(a.choices) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored == nil {
		s.stored, s.items = map[string]*storedResponse{}, map[string][]byte{}
	}
	body = bytes.Clone(body)
	for raw := range jsontext.Elements(jsontext.ParseObject(body).Get("output")) {
		s.items[itemID(raw)] = raw
	}
	m := a.choices[0].message
	s.stored[q.responses.id] = &storedResponse{q.responses.continues, q.responses.input,
		formats.Message{Role: "assistant", Content: m.Content, ContentParts: m.ContentParts,
			Reasoning: m.Reasoning, ToolCalls: m.ToolCalls, Parent: -1, Call: -1}, body}
}

// storedItem returns an item of a stored response's output or input, or nil.
func (s *Session) storedItem(id string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw := s.items[id]; raw != nil {
		return raw
	}
	for _, r := range s.stored {
		for _, raw := range r.inputItems() {
			if itemID(raw) == id {
				return raw
			}
		}
	}
	return nil
}

// forget deletes a response, and the items of its output.
func (s *Session) forget(r *storedResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stored, itemID(r.body))
	for raw := range jsontext.Elements(jsontext.ParseObject(r.body).Get("output")) {
		delete(s.items, itemID(raw))
	}
}

func itemID(raw []byte) string { return jsontext.Unquote(jsontext.ParseObject(raw).Get("id")) }

// inputItems returns the input with ids.
func (r *storedResponse) inputItems() (out [][]byte) {
	for k, raw := range r.input {
		o := jsontext.ParseObject(raw)
		if itemID(raw) == "" {
			o.Set("id", encode(fmt.Sprintf("in_%s_%d", itemID(r.body), k)))
		}
		out = append(out, o.Bytes())
	}
	return out
}
