package customizertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

func (s *Server) makeJob(w http.ResponseWriter, r *http.Request) {
	if code := s.faults.JobStatus; code != 0 {
		fail(w, code, "no jobs today")
		return
	}
	if s.faults.DropBeforeJob {
		panic(http.ErrAbortHandler)
	}
	j := &Job{ID: fmt.Sprintf("cust-%d-AbC", len(s.jobs)-s.faults.OtherJobs+1), WandB: r.Header.Get("wandb-api-key")}
	if err := json.NewDecoder(r.Body).Decode(&j.Body); err != nil {
		invalid(w, "", err.Error())
		return
	}
	if field, wrong := s.check(j); wrong != "" {
		invalid(w, field, wrong)
		return
	}
	s.jobs = append(s.jobs, j)
	switch {
	case s.faults.DropAfterJob:
		panic(http.ErrAbortHandler)
	case s.faults.EmptyJobAnswer:
		answer(w, map[string]any{})
	case s.faults.StatusAfterJob != 0:
		fail(w, s.faults.StatusAfterJob, "refused")
	default:
		answer(w, s.look(j))
	}
}

func (s *Server) job(w http.ResponseWriter, r *http.Request) *Job {
	for _, j := range s.jobs {
		if j.ID == r.PathValue("id") {
			return j
		}
	}
	fail(w, http.StatusNotFound, "no such job")
	return nil
}

func (s *Server) getJob(w http.ResponseWriter, r *http.Request) {
	if j := s.job(w, r); j != nil {
		answer(w, s.look(j))
		j.late++
	}
}

func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) {
	var all []map[string]any
	for _, j := range s.jobs {
		all = append(all, s.look(j))
	}
	if r.URL.Query().Get("sort") == "-created_at" {
		slices.Reverse(all)
	}
	page(s, w, r, all)
}
