package customizertest

import (
	"cmp"
	"net/http"
)

// now is a job's status; asking moves it on.
func (s *Server) now(j *Job, move bool) string {
	states := s.faults.Statuses
	status := cmp.Or(j.status, states[min(j.asked, len(states)-1)])
	if move {
		if j.asked++; j.status == "cancelling" {
			j.status = "cancelled"
		}
	}
	return status
}

// look is the job's object.
func (s *Server) look(j *Job) map[string]any {
	out := map[string]any{"id": j.ID, "created_at": "2026-06-01T10:00:00", "updated_at": "2026-06-01T10:00:00",
		"namespace": "default", "name": j.Body["name"],
		"config": j.Body["config"], "config_snapshot": map[string]any{}, "dataset": j.Body["dataset"],
		"hyperparameters": j.Body["hyperparameters"],
		"output_model":    j.Body["output_model"], "status": s.now(j, false), "status_details": nil, "warnings": []any{},
		"project": nil, "integrations": []any{}}
	if !s.faults.NoFields {
		out["custom_fields"] = j.Body["custom_fields"]
	}
	if j.late < s.faults.LateModel {
		out["output_model"] = nil
	}
	return out
}

func (s *Server) jobStatus(w http.ResponseWriter, r *http.Request) {
	j := s.job(w, r)
	if j == nil {
		return
	}
	if j.fails < s.faults.StatusFails {
		j.fails++
		fail(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	status := s.now(j, true)
	if s.faults.NullProgress {
		answer(w, map[string]any{"status": status, "steps_completed": nil, "percentage_done": nil,
			"train_loss": nil, "metrics": nil, "status_logs": nil})
		return
	}
	done := 100 * float64(min(j.asked, len(s.faults.Statuses))) / float64(len(s.faults.Statuses))
	logs := []any{map[string]any{"updated_at": "2026-06-01T10:00:02", "message": "Training" + status, "detail": nil},
		map[string]any{"updated_at": "2026-06-01T10:00:00", "message": "created"}}
	if s.faults.Failure != "" {
		logs = append([]any{map[string]any{"updated_at": "2026-06-01T10:00:01", "message": "failed",
			"detail": s.faults.Failure}}, logs...)
	}
	if s.faults.NoResources {
		logs = append(logs, map[string]any{"updated_at": "2026-06-01T10:00:03", "message": "NotEnoughResources",
			"detail": "The job will be scheduled later"})
	}
	answer(w, map[string]any{
		"created_at": "2026-06-01T10:00:00", "status": status, "steps_completed": 40, "steps_per_epoch": 20,
		"epochs_completed": 2, "percentage_done": done, "best_epoch": 2,
		"elapsed_time": 310.5 + float64(j.asked), "train_loss": 0.42, "val_loss": 0.51, "status_logs": logs,
		"metrics": map[string]any{"keys": []string{"train_loss", "val_loss"}, "metrics": map[string]any{
			"train_loss": []any{map[string]any{"step": 39, "value": 0.42}, map[string]any{"step": 19, "value": 0.6}},
			"val_loss":   []any{map[string]any{"step": 39, "value": 0.51}, map[string]any{"step": nil, "value": nil}}}},
	})
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	j := s.job(w, r)
	switch {
	case j == nil:
	case s.faults.CancelTooLate:
		fail(w, http.StatusConflict, "the job has ended")
	default:
		j.status = "cancelling"
		answer(w, s.look(j))
	}
}
