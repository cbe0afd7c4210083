// Package arttest is an ART control server without a GPU: the routes, error
// bodies and behaviour of `art run`, over a real socket, with every known or
// possible misbehaviour as a named switch.
//
// It trains nothing, but reads a batch as the trainer would: it drops groups
// without advantage, cuts histories after the last choice, and breaks off the
// answer where Python would raise. It counts its requests.
//
// It shares no code with the ART routes of pipelines/sandbox, on purpose.
// Both were written from ART's own sources, so a misreading of the protocol in
// one of them shows up as a difference in the other: the client has to satisfy
// both, and testdata/consumers holds it against ART itself. The sandbox trains
// and behaves; this server trains nothing and misbehaves on request.
//
// To add a misbehaviour: add a field to Faults, with its default harmless.
package arttest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/art/wiretest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// Dialect is the set of routes and types, by the age of the server.
type Dialect string

const (
	V03      Dialect = "0.3" // no additional histories
	Legacy   Dialect = "0.4" // the one to train on
	V05      Dialect = "0.5" // legacy routes, but a choice arrives as a plain object
	Frontend Dialect = "0.5.17"
	Later    Dialect = "0.5.18" // cannot be told to train
)

// Faults are the misbehaviours. The zero value has none.
type Faults struct {
	NoOpenAPI   bool   // the route list is switched off
	PrepareHost string // host in the answer of prepare; default 0.0.0.0, as the server's
	BareNames   bool   // a frontend server's inference takes the bare model name, as up to 0.5.9
	NewPort     bool   // each prepare starts another inference server, and ends the one before

	StepsKey      string // default num_gradient_steps
	NaN           bool   // a line's loss is NaN
	LongLine      bool   // a line of 200 kB
	LinesMissing  int    // so many lines less than announced, with a clean end
	CloseAfter    *int   // break off after k lines, without the last chunk
	CloseBefore   bool   // take the batch, train, and drop the connection without an answer
	CloseSaved    bool   // break off after all lines, the checkpoint saved
	CloseUnsaved  bool   // break off after all lines, no checkpoint saved
	Untrainable   bool   // find nothing to train on
	StayUntrained bool   // and do not advance the step then, as 0.3
	StepStays     bool   // train, and do not advance the step
	StepJumps     bool   // advance the step by two
	TrainStatus   int    // answer the batch with this status, before training
	StatusAfter   int    // train, then answer with this status
	// the answer ends early, as by a gateway, and the server trains on: the step advances when it is asked for this often
	TrainsOn  int
	AwayAfter bool               // answer nothing but 503 after the first batch
	Proxy     bool               // such an answer is a proxy's, in its own words
	Atomic    bool               // be a server that trains atomically and says so
	Discard   bool               // count a batch's bytes and look at none of them
	Hold      <-chan struct{}    // wait before the first line
	Received  func(token string) // called when a batch has arrived whole
}

// Batch is one training request that arrived whole.
type Batch struct {
	Token   string
	Model   art.Model
	Config  map[string]any
	Dev     map[string]any
	Raw     json.RawMessage // the request's body
	Groups  []wiretest.Group
	Trained bool
	Tokens  []int32  // what was trained: the ids of choices, in order
	Plain   int      // assistant messages that were trained and not sampled
	Texts   []string // and what they said
}

// Server is the server. Its methods are safe for concurrent use.
type Server struct {
	control   *httptest.Server
	inference *httptest.Server

	mu      sync.Mutex
	more    *sync.Cond // another batch
	dialect Dialect
	faults  Faults
	step    int64
	busy    int
	calls   []string
	bodies  map[string][]json.RawMessage
	batches []Batch
	trained map[string]int64 // token to step
	later   *Batch           // in training, although its answer has ended
	looks   int              // at the step, until it is trained
}

// New starts a server of a dialect.
func New(d Dialect, f Faults) *Server {
	s := &Server{dialect: d, faults: f, bodies: map[string][]json.RawMessage{}, trained: map[string]int64{}}
	s.more = sync.NewCond(&s.mu)
	s.control = httptest.NewServer(http.HandlerFunc(s.serve))
	s.inference = httptest.NewServer(http.HandlerFunc(s.infer))
	return s
}

// Close ends the server.
func (s *Server) Close() {
	s.control.CloseClientConnections()
	s.control.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inference.Close()
}

// move starts another inference server.
func (s *Server) move() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.inference
	s.inference = httptest.NewServer(http.HandlerFunc(s.infer))
	old.CloseClientConnections()
	old.Close()
}

// Addr is the host and port of the control server.
func (s *Server) Addr() (host string, port int) {
	a := s.control.Listener.Addr().(*net.TCPAddr)
	return a.IP.String(), a.Port
}

// Set changes the misbehaviour.
func (s *Server) Set(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// latest returns the newest checkpoint's number.
func (s *Server) latest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.step
}

// Advance makes n checkpoints, as another client's batches would.
func (s *Server) Advance(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step += n
}

// Calls lists the requests, "METHOD /path", in order of arrival.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// Bodies lists what was posted to a path.
func (s *Server) Bodies(path string) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]json.RawMessage(nil), s.bodies[path]...)
}

// Batches lists the training requests that arrived whole.
func (s *Server) Batches() []Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Batch(nil), s.batches...)
}

// WaitBatches returns when n batches have been dealt with.
func (s *Server) WaitBatches(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.batches) < n {
		s.more.Wait()
	}
}

// Jobs counts the batches that were trained.
func (s *Server) Jobs() int {
	n := 0
	for _, b := range s.Batches() {
		if b.Trained {
			n++
		}
	}
	return n
}

func (s *Server) get() (Dialect, Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialect, s.faults
}

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

// infer is the inference port: the list of models, and their names.
func (s *Server) infer(w http.ResponseWriter, r *http.Request) {
	d, f := s.get()
	name := "trainer_run"
	if posted := s.Bodies("/register"); len(posted) > 0 {
		var m art.Model
		_ = json.Unmarshal(posted[len(posted)-1], &m)
		name = m.Name
	}
	if d == Frontend && !f.BareNames {
		name = fmt.Sprintf("%s@%d", name, s.latest())
	}
	switch {
	case r.URL.Path == "/v1/models":
		backendtest.JSON(w, 200, map[string]any{"object": "list", "data": []any{map[string]any{"id": name, "object": "model"}}})
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		var body struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		if body.Model != name {
			backendtest.JSON(w, 404, map[string]any{"error": map[string]any{"message": fmt.Sprintf("The model `%s` does not exist.",
				body.Model), "code": 404}})
			return
		}
		backendtest.JSON(w, 200, map[string]any{"model": name, "choices": []any{}})
	default:
		detail(w, 404, "Not Found")
	}
}
