// Package sandboxtest is a sandbox for tests of its clients: it has faults on request,
// and keeps what was drawn.
//
// To add a fault: a constant, its kind in kinds, and what it does in chat or train.
package sandboxtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/rollmill/rollmill/pipelines/sandbox"
)

// The kinds of faults. A training call has Status alone.
const (
	Status     = "status"       // answers Fault.Status
	Hang       = "hang"         // no answer until the client gives up or other faults are set
	NoLogprobs = "no_logprobs"  // logprobs is null
	NoTokenIDs = "no_token_ids" // no ids anywhere
)

var kinds = map[string][]string{"chat": {Status, Hang, NoLogprobs, NoTokenIDs}, "train": {Status}}

// Faults is the body of POST /_rollmill/faults, which replaces those before: faults of
// the next calls, in order.
type Faults struct {
	Chat  []*Fault `json:"chat"`
	Train []*Fault `json:"train"`
}

// Fault applies to Times calls (default 1, -1: all) after skipping Skip of them.
type Fault struct {
	Kind   string `json:"kind"`
	Skip   int    `json:"skip,omitempty"`
	Times  int    `json:"times"`
	Status int    `json:"status,omitempty"` // default 500
}

// Server is a sandbox with faults. It is safe for concurrent use.
type Server struct {
	*sandbox.Server
	mu      sync.Mutex
	samples []sandbox.Sample
	faults  Faults
	cleared chan struct{} // closed when other faults are set
}

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

// Samples returns what was drawn until now.
func (s *Server) Samples() []sandbox.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.samples)
}

// next returns the fault of the next call of a list; nil for none.
func (s *Server) next(list *[]*Fault) (*Fault, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(*list) == 0 {
		return nil, nil
	}
	f := (*list)[0]
	if f.Skip > 0 {
		f.Skip--
		return nil, nil
	}
	if f.Times > 0 {
		f.Times--
	}
	if f.Times == 0 {
		*list = (*list)[1:]
	}
	return f, s.cleared
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

func (s *Server) set(w http.ResponseWriter, r *http.Request) {
	var faults Faults
	if err := json.NewDecoder(r.Body).Decode(&faults); err != nil {
		http.Error(w, "reading the faults: "+err.Error(), http.StatusBadRequest)
		return
	}
	for name, list := range map[string][]*Fault{"chat": faults.Chat, "train": faults.Train} {
		for _, f := range list {
			if !slices.Contains(kinds[name], f.Kind) {
				http.Error(w, fmt.Sprintf("no %s fault is called %s", name, strconv.Quote(f.Kind)), http.StatusBadRequest)
				return
			}
			f.Times, f.Status = cmp.Or(f.Times, 1), cmp.Or(f.Status, http.StatusInternalServerError)
		}
	}
	s.replace(faults)
}

func (s *Server) replace(faults Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
	close(s.cleared)
	s.cleared = make(chan struct{})
}

// Close releases hanging calls and closes the sandbox.
func (s *Server) Close() error {
	s.replace(Faults{})
	return s.Server.Close()
}
