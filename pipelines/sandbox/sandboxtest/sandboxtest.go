// Package sandboxtest is a sandbox for tests of its clients: it has faults on request,
// and keeps what was drawn.
//
// To add a fault: a constant, its kind in kinds, and what it does in chat or train.
package sandboxtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/rollmill/rollmill/pipelines/sandbox"
)

// New returns a server without faults.
func New(o sandbox.Options) (s *Server, err error) {
	s = &Server{cleared: make(chan struct{})}
	o.Sampled = func(one sandbox.Sample) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.samples = append(s.samples, one)
	}
	s.Server, err = sandbox.New(o)
	return s, err
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var f *Fault
	var cleared <-chan struct{}
	switch r.Method + " " + r.URL.Path {
	case "POST /_rollmill/faults":
		s.set(w, r)
		return
	case "POST /v1/chat/completions":
		f, cleared = s.next(&s.faults.Chat)
	case "POST /_train_model":
		f, _ = s.next(&s.faults.Train)
	}
	switch {
	case f == nil:
	case f.Kind == Status:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.Status)
		io.WriteString(w, `{"error":{"message":"a fault was asked for","type":"server_error","code":"fault"}}`)
		return
	case f.Kind == Hang:
		select {
		case <-cleared:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case f.Kind == NoLogprobs:
		without(r, "logprobs", "top_logprobs")
	case f.Kind == NoTokenIDs:
		without(r, "return_token_ids", "return_tokens_as_token_ids")
	}
	s.Server.ServeHTTP(w, r)
}

// without leaves members out of a request, as an engine that does not know them would.
func without(r *http.Request, names ...string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil {
		for _, name := range names {
			delete(members, name)
		}
		body, _ = json.Marshal(members)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
}

// Samples returns what was drawn until now.
func (s *Server) Samples() []sandbox.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.samples)
}

// Close releases hanging calls and closes the sandbox.
func (s *Server) Close() error {
	s.replace(Faults{})
	return s.Server.Close()
}
