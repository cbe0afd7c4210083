package openaitest

import (
	"encoding/json"
	"net/http/httptest"
	"sync"
)

// Key is the key that it takes.
const Key = "sk-test-hush"

// Server is the server. Its fields are for tests that hold mu by Look.
type Server struct {
	*httptest.Server
	faults Faults

	mu    sync.Mutex
	jobs  []*Job
	files []*upload
	busy  map[string]int
}

// Job is a job that was made.
type Job struct {
	ID     string
	Key    string // the request's idempotency key
	Body   map[string]json.RawMessage
	asked  int
	status string
}

// Jobs are those that rollmill made.
func (s *Server) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Job
	for _, j := range s.jobs[s.faults.OtherJobs:] {
		out = append(out, *j)
	}
	return out
}

type upload struct {
	id, name string
	data     []byte
	asked    int
}
