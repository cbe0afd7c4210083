package recorder

import (
	"fmt"
	"net/http"
	pathpkg "path"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/apis"
)

// passPaths are the requests besides model calls that an agent may send: those that compute an answer and leave nothing
// behind. All others are refused, as they would act, with the operator's key, on what is not the trajectory's.
// Options.AllowPaths adds to them. A * is any part of a path.
var passPaths = []string{
	"GET /v1/models", "GET /v1/models/*", "GET /v1/models/*/*",
	"POST /v1/embeddings", "POST /v1/rerank", "POST /v1/score", "POST /v1/classify", "POST /v1/pooling",
	"POST /v1/moderations",
	"POST /v1/tokenize", "POST /v1/detokenize",
	"POST /v1/audio/transcriptions", "POST /v1/audio/translations", "POST /v1/audio/speech",
}

// CheckPath returns an error if a text is no value of Options.AllowPaths.
func CheckPath(allowed string) error {
	method, path, _ := strings.Cut(allowed, " ")
	_, err := pathpkg.Match(path, "")
	below, ok := strings.CutPrefix(path, "/v1/")
	if method == "" || method != strings.ToUpper(method) || err != nil || !ok || !isCleanPath(below) {
		return fmt.Errorf("%q is not a method and a path below /v1", allowed)
	}
	return nil
}

// mayPass reports whether a request, with its decoded path below /v1, passes to the engine.
func (o *Options) mayPass(method, path string) bool {
	return slices.ContainsFunc(slices.Concat(passPaths, o.AllowPaths), func(allowed string) bool {
		m, p, _ := strings.Cut(allowed, " ")
		matched, _ := pathpkg.Match(p, "/v1/"+path)
		return matched && m == method
	})
}

// isCleanPath reports whether a decoded path leads where it appears to lead, also
// for a gateway that cleans it, or that decodes it again.
func isCleanPath(path string) bool {
	return path != "" && pathpkg.Clean("/"+path) == "/"+path && !strings.ContainsAny(path, `%\`)
}

// serve answers a request by its method and its decoded path below /v1, so that
// no way to write a path passes by the recording.
func (r *Recorder) serve(s *Session, w http.ResponseWriter, req *http.Request) {
	path := req.PathValue("path")
	for _, a := range apis.All {
		if req.Method == http.MethodPost && "/"+path == a.Route {
			s.ask(a, w, req)
			return
		}
	}
	switch {
	case req.Method == http.MethodPost && path == "messages/count_tokens":
		s.countTokens(apis.Messages, path, w, req)
	case req.Method == http.MethodPost && path == "responses/input_tokens":
		s.countTokens(apis.Responses, path, w, req)
	case s.serveStored(w, req, path):
	case !r.opts.mayPass(req.Method, path) || !isCleanPath(path):
		const text = "%s /v1/%s is not a request that an agent may send to the engine; rollout --allow-path '%[1]s " +
			"/v1/%[2]s' allows it"
		writeError(w, http.StatusForbidden, "permission_error", fmt.Sprintf(text, req.Method, path))
	default:
		s.pass(w, req, path)
	}
}

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
