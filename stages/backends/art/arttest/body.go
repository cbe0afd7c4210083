package arttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// wrong is one entry of a 422 response.
type wrong struct {
	Type string `json:"type"`
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
}

func detail(w http.ResponseWriter, code int, text any) {
	backendtest.JSON(w, code, map[string]any{"detail": text})
}

// crash is what an exception in a handler looks like.
func crash(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprint(w, "Internal Server Error")
}

// object reads a body that must be a JSON object.
func object(w http.ResponseWriter, body []byte, v any) bool {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && json.Unmarshal(body, v) == nil {
		return true
	}
	detail(w, 422, []wrong{{"json_invalid", []any{"body"}, "JSON decode error"}})
	return false
}

// needs refuses a body that lacks a top-level key.
func needs(w http.ResponseWriter, keys map[string]json.RawMessage) bool {
	var missing []wrong
	for key, value := range keys {
		if value == nil {
			missing = append(missing, wrong{"missing", []any{"body", key}, "Field required"})
		}
	}
	if missing != nil {
		detail(w, 422, missing)
	}
	return missing == nil
}

// model reads a model as the server's constructor does: what is missing is an
// exception, not a refusal, and a null section crashes its first use.
func (s *Server) model(w http.ResponseWriter, body []byte, trainable bool) bool {
	var m map[string]any
	if !object(w, body, &m) {
		return false
	}
	_, name := m["name"].(string)
	_, project := m["project"].(string)
	_, base := m["base_model"].(string)
	if !name || !project || trainable && !base {
		crash(w)
		return false
	}
	internal, given := m["_internal_config"]
	sections, ok := internal.(map[string]any)
	if given && !ok {
		crash(w)
		return false
	}
	for _, section := range sections {
		if section == nil {
			crash(w)
			return false
		}
	}
	return true
}
