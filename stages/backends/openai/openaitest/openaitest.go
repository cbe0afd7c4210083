// Package openaitest is a test server of the OpenAI fine-tuning API: files, jobs, events,
// checkpoints, cancel. It refuses what the service refuses, and misbehaves when told to.
package openaitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
)

// New starts a server.
func New(f Faults) *Server {
	if f.FileStatuses == nil {
		f.FileStatuses = []string{"uploaded", "processed"}
	}
	if f.JobStatuses == nil {
		f.JobStatuses = []string{"validating_files", "queued", "running", "succeeded"}
	}
	f.PageSize = cmp.Or(f.PageSize, 100)
	s := &Server{faults: f, busy: map[string]int{}}
	for i := range f.OtherJobs {
		s.jobs = append(s.jobs, &Job{ID: fmt.Sprint("ftjob-other-", i),
			Body: map[string]json.RawMessage{"model": []byte(`"m"`), "training_file": []byte(`"file-x"`),
				"metadata": []byte(`{"rollmill":"another"}`)}})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /files", s.postFile)
	mux.HandleFunc("GET /files", s.listFiles)
	mux.HandleFunc("GET /files/{id}", s.getFile)
	mux.HandleFunc("POST /fine_tuning/jobs", s.postJob)
	mux.HandleFunc("GET /fine_tuning/jobs", s.listJobs)
	mux.HandleFunc("GET /fine_tuning/jobs/{id}", s.getJob)
	mux.HandleFunc("POST /fine_tuning/jobs/{id}/cancel", s.cancel)
	mux.HandleFunc("GET /fine_tuning/jobs/{id}/events", s.events)
	mux.HandleFunc("GET /fine_tuning/jobs/{id}/checkpoints", s.checkpoints)
	s.Server = httptest.NewServer(s.gate(mux))
	return s
}
