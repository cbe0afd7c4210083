package recorder

import (
	"net/http"
	"slices"
	"strings"
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
	r, err := s.responses.Response(id)
	switch {
	case err != nil && s.recorder.opts.mayPass(req.Method, path):
		return false
	case err != nil:
		writeError(w, http.StatusNotFound, "not_found_error", err.Error())
	case way == "POST cancel":
		writeError(w, http.StatusBadRequest, "invalid_request_error", "only a response in the background can be cancelled")
	case way == "DELETE ":
		writeJSON(w, s.responses.Forget(r))
	case way == "GET input_items":
		page, err := r.InputPage(req.URL.Query())
		if err != nil {
			writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
			return true
		}
		writeJSON(w, page)
	case req.URL.Query().Get("stream") == "true":
		writeError(w, http.StatusBadRequest, "invalid_request_error", "a stored response is not streamed again")
	default:
		writeJSON(w, r.Body)
	}
	return true
}

func writeJSON(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}
