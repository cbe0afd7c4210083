// Package nattest is a NeMo Agent Toolkit server for tests: the routes of its
// raw stream, framed as it frames them, played from a script.
//
// Records are lines whose first word is their kind, payloads are JSON within
// JSON, a failed workflow answers 200 and ends in a bare object, and faults of
// a real server are requested by name (Play.Fault).
package nattest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Faults that a play may have.
const (
	Busy        = "busy"        // 503 twice, then the play
	TooMany     = "too many"    // 429 twice, then the play
	Invalid     = "invalid"     // 422: the input type does not take the request
	Raised      = "raised"      // 422: the workflow raised
	Interaction = "interaction" // 202: a person is asked
	Reset       = "reset"       // the connection is dropped in the middle
	Drip        = "drip"        // the play, a piece at a time, for ever
)

// Play is what the workflow does with one request.
type Play struct {
	Lines []string // as they are sent, each ended by a blank line unless it begins with {
	Fault string
}

// Server is the server. Set Script before the first request.
type Server struct {
	URL      string
	Script   func(body map[string]any) *Play
	NoLegacy bool // the unversioned routes are off
	Old      bool // the versioned routes are not there yet

	mu      sync.Mutex
	asked   []Asked
	stumble map[string]int
}

// Asked is a request as it arrived.
type Asked struct {
	Path, Filter, Session string
	Body                  map[string]any
}

// New serves until the test ends.
func New(t testing.TB, script func(body map[string]any) *Play) *Server {
	s := &Server{Script: script, stumble: map[string]int{}}
	web := httptest.NewServer(s)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	s.URL = web.URL
	return s
}

// Asked returns the requests so far.
func (s *Server) Asked() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	known := r.URL.Path == "/v1/workflow/full" && !s.Old || r.URL.Path == "/generate/full" && !s.NoLegacy
	switch {
	case r.URL.Path == "/health":
		fmt.Fprint(w, `{"status":"healthy"}`)
		return
	case !known:
		refuse(w, http.StatusNotFound, `{"detail":"Not Found"}`)
		return
	case r.Method != http.MethodPost:
		refuse(w, http.StatusMethodNotAllowed, `{"detail":"Method Not Allowed"}`)
		return
	}
	a := Asked{Path: r.URL.Path, Filter: r.URL.Query().Get("filter_steps")}
	if c, err := r.Cookie("nat-session"); err == nil {
		a.Session = c.Value
	}
	text, _ := io.ReadAll(r.Body)
	if json.Unmarshal(text, &a.Body) != nil || a.Body["input_message"] == nil && a.Body["messages"] == nil {
		refuse(w, http.StatusUnprocessableEntity,
			`{"detail":[{"type":"missing","loc":["body","input_message"],"msg":"Field required"}]}`)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, a)
	s.mu.Unlock()
	s.play(w, r, a)
}

func (s *Server) play(w http.ResponseWriter, r *http.Request, a Asked) {
	p := s.Script(a.Body)
	switch p.Fault {
	case Busy, TooMany:
		s.mu.Lock()
		s.stumble[a.Session]++
		n := s.stumble[a.Session]
		s.mu.Unlock()
		if n <= 2 {
			refuse(w, map[string]int{Busy: 503, TooMany: 429}[p.Fault], `{"detail":"later"}`)
			return
		}
	case Invalid:
		refuse(w, http.StatusUnprocessableEntity, `{"detail":[{"msg":"Extra inputs are not permitted"}]}`)
		return
	case Raised:
		refuse(w, http.StatusUnprocessableEntity, `{"code":"workflow_error","message":"boom","details":"ValueError"}`)
		return
	case Interaction:
		refuse(w, http.StatusAccepted, `{"execution_id":"e1","status":"interaction_required","prompt":"sure?"}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for i, line := range p.Lines {
		if p.Fault == Reset && i == len(p.Lines)/2 {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		if !sent(line, a.Filter) {
			continue
		}
		fmt.Fprint(w, line)
		if !strings.HasPrefix(line, "{") { // an error is the last bytes, without a line's end
			fmt.Fprint(w, "\n\n")
		}
		w.(http.Flusher).Flush()
	}
	for p.Fault == Drip && r.Context().Err() == nil {
		fmt.Fprint(w, Value("."), "\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// sent applies filter_steps: exact names of event types.
func sent(line, filter string) bool {
	text, is := strings.CutPrefix(line, "intermediate_data: ")
	if !is || filter == "" {
		return true
	}
	var e struct{ Type string }
	_ = json.Unmarshal([]byte(text), &e)
	return slices.Contains(strings.Split(filter, ","), e.Type)
}

func refuse(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// Value is a piece of the answer.
func Value(v any) string {
	text, _ := json.Marshal(map[string]any{"value": v})
	return "data: " + string(text)
}

// Step is an intermediate step: its payload is JSON text within JSON.
func Step(kind, id, parent, name, framework string, at float64, more map[string]any) string {
	payload := map[string]any{"event_type": kind, "event_timestamp": at, "framework": framework, "name": name, "UUID": id}
	maps.Copy(payload, more)
	inner, _ := json.Marshal(payload)
	outer, _ := json.Marshal(map[string]any{"id": id, "parent_id": parent, "type": kind, "name": name,
		"payload": string(inner)})
	return "intermediate_data: " + string(outer)
}
