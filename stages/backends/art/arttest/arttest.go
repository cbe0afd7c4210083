// Package arttest is an ART control server without a GPU: the routes, error bodies and behaviour
// of `art run`, over a real socket, with every known or possible misbehaviour as a named switch.
//
// It trains nothing, but reads a batch as the trainer would: it drops groups
// without advantage, cuts histories after the last choice, and breaks off the
// answer where Python would raise. It counts its requests.
//
// It shares no code with the ART routes of pipelines/sandbox, on purpose. Both were written from
// ART's own sources, so a misreading of the protocol in one of them shows up as a difference in
// the other: the client has to satisfy both, and testdata/consumers holds it against ART itself.
// The sandbox trains and behaves; this server trains nothing and misbehaves on request.
//
// To add a misbehaviour: add a field to Faults, with its default harmless.
package arttest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// New starts a server of a dialect.
func New(d Dialect, f Faults) *Server {
	s := &Server{dialect: d, faults: f, bodies: map[string][]json.RawMessage{}, trained: map[string]int64{}}
	s.more = sync.NewCond(&s.mu)
	s.control = httptest.NewServer(http.HandlerFunc(s.serve))
	s.inference = httptest.NewServer(http.HandlerFunc(s.infer))
	return s
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	d, f := s.get()
	s.mu.Lock()
	s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if f.AwayAfter && len(s.Batches()) > 0 {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == "/openapi.json" && !f.NoOpenAPI {
		backendtest.JSON(w, 200, openapi(d))
		return
	}
	if r.URL.Path == art.TrainingRoute && f.Atomic {
		s.training(w, r)
		return
	}
	method, found := routes(d)[r.URL.Path]
	switch {
	case !found:
		detail(w, 404, "Not Found")
	case method != r.Method:
		detail(w, 405, "Method Not Allowed")
	case r.URL.Path == "/healthcheck":
		backendtest.JSON(w, 200, map[string]any{"status": "ok"})
	case r.URL.Path == "/_train_model":
		s.train(w, r, d, f)
	default:
		s.post(w, r, f)
	}
}
