package backendtest

import (
	"bytes"
	"io"
	"net/http"
)

// Whole hands each request on when its body is there. A test server that
// answers one request at a time begins with it, else a client that stops while
// it sends holds up whoever asks the server meanwhile, and a test that looks at
// the server from within what is sent waits for itself.
func Whole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
