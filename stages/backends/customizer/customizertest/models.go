package customizertest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// models are what the NIM answers for: the base, LoRA's outcomes, and what is
// deployed and ready.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	out := []any{map[string]any{"id": Model, "object": "model"}}
	s.lists++
	for _, j := range s.jobs[s.faults.OtherJobs:] {
		var name string
		var hyper struct {
			Finetuning string `json:"finetuning_type"`
		}
		_ = json.Unmarshal(j.Body["output_model"], &name)
		_ = json.Unmarshal(j.Body["hyperparameters"], &hyper)
		ready := hyper.Finetuning == "lora"
		for key, d := range s.deployments {
			if d.body != nil && s.configs[key]["model"] == name && d.asked >= len(s.faults.DeploymentStates) {
				ready = slices.Contains([]string{"ready", "deployed"},
					strings.ToLower(s.faults.DeploymentStates[len(s.faults.DeploymentStates)-1]))
			}
		}
		if ready && s.lists > s.faults.LateList {
			out = append(out, map[string]any{"id": name, "object": "model"})
		}
	}
	answer(w, map[string]any{"object": "list", "data": out})
}
