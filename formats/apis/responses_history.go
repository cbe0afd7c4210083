package apis

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// StoredResponses are the responses of a trajectory that later calls may name. Engines that
// are asked for chat completions store none.
type StoredResponses struct {
	mu    sync.Mutex
	byID  map[string]*StoredResponse
	items map[string][]byte // of their outputs, by id
}

// StoredResponse is what one response added to a conversation.
type StoredResponse struct {
	previous *StoredResponse // that it continued, or nil
	input    [][]byte        // items
	answer   formats.Message
	Body     []byte // as the agent got it
}

// Response returns a response by its id; nil without an error if the id is empty.
func (s *StoredResponses) Response(id string) (*StoredResponse, error) {
	if id == "" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.byID[id]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("this trajectory has no response %q that was stored", id)
}

// messages returns the input and the answers of a response and those before it.
func (r *StoredResponse) messages() (list []formats.Message) {
	var chain []*StoredResponse
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

// Store remembers a response as the agent gets it, unless the agent asked not to store it.
func (s *StoredResponses) Store(q *Request, a *completion.Answer, body []byte) {
	if !q.responses.store || len(a.Choices) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID, s.items = map[string]*StoredResponse{}, map[string][]byte{}
	}
	body = bytes.Clone(body)
	for raw := range jsontext.Elements(jsontext.ParseObject(body).Get("output")) {
		s.items[itemID(raw)] = raw
	}
	m := a.Choices[0].Message
	s.byID[q.ID] = &StoredResponse{q.responses.continues, q.responses.input,
		formats.Message{Role: "assistant", Content: m.Content, ContentParts: m.ContentParts,
			Reasoning: m.Reasoning, ToolCalls: m.ToolCalls, Parent: -1, Call: -1}, body}
}

// item returns an item of a stored response's output or input, or nil.
func (s *StoredResponses) item(id string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw := s.items[id]; raw != nil {
		return raw
	}
	for _, r := range s.byID {
		for _, raw := range r.inputItems() {
			if itemID(raw) == id {
				return raw
			}
		}
	}
	return nil
}

// Forget deletes a response, and the items of its output, and returns what the client gets.
func (s *StoredResponses) Forget(r *StoredResponse) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, itemID(r.Body))
	for raw := range jsontext.Elements(jsontext.ParseObject(r.Body).Get("output")) {
		delete(s.items, itemID(raw))
	}
	return jsontext.Object{field("id", encode(itemID(r.Body))), field("object", encode("response")),
		field("deleted", []byte("true"))}.Bytes()
}

func itemID(raw []byte) string { return jsontext.Unquote(jsontext.ParseObject(raw).Get("id")) }

// inputItems returns the input with ids.
func (r *StoredResponse) inputItems() (out [][]byte) {
	for k, raw := range r.input {
		o := jsontext.ParseObject(raw)
		if itemID(raw) == "" {
			o.Set("id", encode(fmt.Sprintf("in_%s_%d", itemID(r.Body), k)))
		}
		out = append(out, o.Bytes())
	}
	return out
}

// InputPage returns a page of a response's input as a client asks for it: the latest items
// first, unless it asks for another order.
func (r *StoredResponse) InputPage(query url.Values) ([]byte, error) {
	items := r.inputItems()
	if query.Get("order") != "asc" {
		slices.Reverse(items)
	}
	if after := query.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(raw []byte) bool { return itemID(raw) == after })
		if at < 0 {
			return nil, fmt.Errorf("after: the response has no input item %q", after)
		}
		items = items[at+1:]
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 {
		limit = 20
	}
	page := items[:min(limit, len(items))]
	first, last := "", ""
	if len(page) > 0 {
		first, last = itemID(page[0]), itemID(page[len(page)-1])
	}
	return jsontext.Object{field("object", encode("list")), field("data", array(page)), field("first_id", encode(first)),
		field("last_id", encode(last)), field("has_more", encode(len(page) < len(items)))}.Bytes(), nil
}
