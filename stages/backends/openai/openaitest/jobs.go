package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

func (s *Server) postJob(w http.ResponseWriter, r *http.Request) {
	if code := s.faults.JobStatus; code != 0 {
		fail(w, code, "fine-tuning is closed for this organization", "model")
		return
	}
	if s.faults.DropBeforeJob {
		panic(http.ErrAbortHandler)
	}
	j := &Job{ID: fmt.Sprint("ftjob-", len(s.jobs)+1), Key: r.Header.Get("Idempotency-Key")}
	at := slices.IndexFunc(s.jobs, func(o *Job) bool { return o.Key != "" && o.Key == j.Key })
	if at >= 0 && !s.faults.ForgetsKeys {
		s.answer(w, s.look(s.jobs[at], false))
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&j.Body); err != nil {
		fail(w, http.StatusBadRequest, err.Error(), "")
		return
	}
	if wrong, param := s.checkJob(j.Body); wrong != "" {
		fail(w, http.StatusBadRequest, wrong, param)
		return
	}
	s.jobs = append(s.jobs, j)
	switch {
	case s.faults.DropAfterJob:
		panic(http.ErrAbortHandler)
	case s.faults.EmptyJobAnswer:
		s.answer(w, map[string]any{})
	case s.faults.StatusAfterJob != 0:
		fail(w, s.faults.StatusAfterJob, "refused", "")
	default:
		s.answer(w, s.look(j, false))
	}
}

func (s *Server) job(w http.ResponseWriter, r *http.Request) *Job {
	for _, j := range s.jobs {
		if j.ID == r.PathValue("id") {
			return j
		}
	}
	fail(w, http.StatusNotFound, "no such job", "")
	return nil
}

func (s *Server) getJob(w http.ResponseWriter, r *http.Request) {
	if j := s.job(w, r); j != nil {
		s.answer(w, s.look(j, true))
	}
}

func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) {
	var all []map[string]any
	for _, j := range s.jobs {
		all = append(all, s.look(j, false))
	}
	s.page(w, r, all)
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	j := s.job(w, r)
	if j == nil {
		return
	}
	if s.faults.CancelTooLate {
		fail(w, http.StatusBadRequest, "the job has ended", "")
		return
	}
	j.status = "cancelled"
	s.answer(w, s.look(j, false))
}
