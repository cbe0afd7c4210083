package recorder

import (
	"net/http"

	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// readRequest returns the content of an agent's request; if it cannot, it answers the
// agent and returns false.
func readRequest(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	content, err := remote.Decompress(r.Header.Get("Content-Encoding"), r.Body)
	if err != nil {
		writeError(w, http.StatusUnsupportedMediaType, "invalid_request_error", "reading the request: "+err.Error())
		return nil, false
	}
	size := r.ContentLength
	if content != r.Body {
		size = -1
	}
	if body, err = engines.ReadAll(content, size, maxRequest); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", "reading the request: "+err.Error())
		return nil, false
	}
	return body, true
}

const maxRequest = 256 << 20 // with images in it
