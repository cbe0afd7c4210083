package openaitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
)

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
