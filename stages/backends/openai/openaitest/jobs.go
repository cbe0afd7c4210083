package openaitest

import (
	"cmp"
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

func (s *Server) checkJob(body map[string]json.RawMessage) (wrong, param string) {
	var text struct {
		Model      string                     `json:"model"`
		Training   string                     `json:"training_file"`
		Validation string                     `json:"validation_file"`
		Method     map[string]json.RawMessage `json:"method"`
		Metadata   map[string]string          `json:"metadata"`
	}
	all, _ := json.Marshal(body)
	if err := json.Unmarshal(all, &text); err != nil {
		return err.Error(), ""
	}
	for _, id := range []string{text.Training, text.Validation} {
		at := slices.IndexFunc(s.files, func(f *upload) bool { return f.id == id })
		if id != "" && (at < 0 || s.files[at].asked < len(s.faults.FileStatuses)) {
			return "the file is not there or not processed: invalidPayload", "training_file"
		}
	}
	var kind string
	_ = json.Unmarshal(text.Method["type"], &kind)
	var method map[string]json.RawMessage
	_ = json.Unmarshal(text.Method[kind], &method)
	_, beta := method["beta"]
	switch {
	case text.Model == "":
		return "no model", "model"
	case text.Training == "":
		return "no training file", "training_file"
	case text.Method[kind] == nil || len(text.Method) != 2:
		return "the method is wrong", "method"
	case beta && !s.faults.Azure:
		return "beta is a hyperparameter", "method"
	case len(text.Metadata) > 16:
		return "too much metadata", "metadata"
	}
	return "", ""
}

// look shows a job; asking moves it on.
func (s *Server) look(j *Job, move bool) map[string]any {
	states := s.faults.JobStatuses
	status := cmp.Or(j.status, states[min(j.asked, len(states)-1)])
	var model any
	if status == "succeeded" && j.asked >= len(states)-1+s.faults.LateModel {
		model = "ft:" + j.ID
	}
	if move {
		j.asked++
	}
	out := map[string]any{"object": "fine_tuning.job", "id": j.ID, "status": status, "fine_tuned_model": model,
		"training_file": j.Body["training_file"],
		"error":         map[string]any{}, "result_files": []string{}, "trained_tokens": 12, "finished_at": nil,
		"shared_with_openai": false}
	if s.faults.JobError != "" && status == "failed" {
		out["error"] = json.RawMessage(s.faults.JobError)
	}
	if !s.faults.NoMetadata {
		out["metadata"] = j.Body["metadata"]
	}
	return out
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

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if j := s.job(w, r); j != nil {
		s.page(w, r, []map[string]any{{"id": "e2", "level": "info",
			"message": fmt.Sprintf("Step %d/100: training loss=0.42", j.asked), "type": "metrics"},
			{"id": "e1", "message": "Created"}})
	}
}

func (s *Server) checkpoints(w http.ResponseWriter, r *http.Request) {
	if j := s.job(w, r); j != nil {
		s.page(w, r, []map[string]any{
			{"id": "c2", "step_number": 20, "fine_tuned_model_checkpoint": "ft:" + j.ID + ":20",
				"metrics": map[string]any{"train_loss": 0.25, "step": 20}},
			{"id": "c1", "step_number": 10, "fine_tuned_model_checkpoint": "ft:" + j.ID + ":10",
				"metrics": map[string]any{"train_loss": 0.5, "step": 10}},
		})
	}
}
