package customizertest

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"sync"

	"github.com/rollmill/rollmill/stages/backends/hubtest"
)

// Key and Token are the ones that it takes.
const (
	Key   = "nvapi-test-hush"
	Token = hubtest.Token
	Model = "meta/llama-3.2-1b-instruct"
	// Config trains DPO and SFT of every kind, in sequences of 4096.
	Config = Model + "@v1.0.0+A100"
)

// Server is the server.
type Server struct {
	*httptest.Server // the gateway
	Datastore        *httptest.Server
	Hub              *hubtest.Hub

	mu          sync.Mutex
	faults      Faults
	jobs        []*Job
	entity      map[string]bool // namespaces
	datastore   map[string]bool
	datasets    map[string]map[string]any
	configs     map[string]map[string]any // of deployments
	deployments map[string]*deployment
	lists       int // of the NIM's models
}

type deployment struct {
	body  map[string]any
	asked int
}

// Job is a job that was made.
type Job struct {
	ID    string
	Body  map[string]json.RawMessage
	Files map[string]string // what its dataset held when it was made
	WandB string            // the key that came with it

	asked, late, fails int
	status             string
}

// Close ends both.
func (s *Server) Close() {
	s.Server.Close()
	s.Datastore.Close()
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

func (d *deployment) show(status string) map[string]any {
	out := map[string]any{"url": "", "deployed": status == "ready",
		"status_details": map[string]any{"status": status, "description": "deployment " + status}, "models": []any{}}
	maps.Copy(out, d.body)
	return out
}

// Deployments are the bodies of those that were made, with their configs.
func (s *Server) Deployments() (bodies, configs []map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deployments {
		if d.body != nil {
			bodies = append(bodies, d.body)
		}
	}
	return bodies, slices.Collect(maps.Values(s.configs))
}
