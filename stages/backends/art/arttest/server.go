package arttest

import (
	"encoding/json"
	"net"
	"net/http/httptest"
	"sync"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/art/wiretest"
)

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

// Close ends the server.
func (s *Server) Close() {
	s.control.CloseClientConnections()
	s.control.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inference.Close()
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

func (s *Server) get() (Dialect, Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialect, s.faults
}
