package recorder

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// serveStored answers a request about a response that a client trusts to be stored, and
// reports whether it did. What OpenAI's servers keep beside responses is refused by name.
func (s *Session) serveStored(w http.ResponseWriter, req *http.Request, path string) bool {
	rest, ok := strings.CutPrefix(path, "responses/")
	id, below, _ := strings.Cut(rest, "/")
	way := req.Method + " " + below
	switch {
	case rest == "compact", path == "conversations", strings.HasPrefix(path, "conversations/"):
		if s.recorder.opts.mayPass(req.Method, path) {
			return false
		}
		writeError(w, http.StatusNotFound, "not_found_error", "no conversation is kept here, and none is compacted: send the items as input, "+
			"or previous_response_id")
		return true
	case !ok || !slices.Contains([]string{"GET ", "DELETE ", "GET input_items", "POST cancel"}, way):
		return false
	}
	r, err := s.storedResponse(id)
	switch {
	case err != nil && s.recorder.opts.mayPass(req.Method, path):
		return false
	case err != nil:
		writeError(w, http.StatusNotFound, "not_found_error", err.Error())
	case way == "POST cancel":
		writeError(w, http.StatusBadRequest, "invalid_request_error", "only a response in the background can be cancelled")
	case way == "DELETE ":
		s.forget(r)
		writeJSON(w, jsontext.Object{field("id", encode(id)), field("object", encode("response")), field("deleted", []byte("true"))}.Bytes())
	case way == "GET input_items":
		r.listInput(w, req)
	case req.URL.Query().Get("stream") == "true":
		writeError(w, http.StatusBadRequest, "invalid_request_error", "a stored response is not streamed again")
	default:
		writeJSON(w, r.body)
	}
	return true
}

// listInput writes a page of a response's input: the latest items first, unless the
// client asks for another order.
func (r *storedResponse) listInput(w http.ResponseWriter, req *http.Request) {
	query, items := req.URL.Query(), r.inputItems()
	if query.Get("order") != "asc" {
		slices.Reverse(items)
	}
	if after := query.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(raw []byte) bool { return itemID(raw) == after })
		if at < 0 {
			writeError(w, http.StatusBadRequest, "invalid_request_error", fmt.Sprintf("after: the response has no input item %q", after))
			return
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
	writeJSON(w, jsontext.Object{field("object", encode("list")), field("data", array(page)), field("first_id", encode(first)),
		field("last_id", encode(last)), field("has_more", encode(len(page) < len(items)))}.Bytes())
}

func writeJSON(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}
