package backendtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// Whole passes each request on when its body is complete. A test server that answers one request
// at a time uses it first: otherwise a client that stops while sending blocks everybody else,
// and a test that queries the server from within the body waits for itself.
func Whole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client has disconnected
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// JSON answers with a value.
func JSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}
