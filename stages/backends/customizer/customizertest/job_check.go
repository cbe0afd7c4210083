package customizertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// check refuses what the service refuses, and notes what the job will train on.
func (s *Server) check(j *Job) (field, wrong string) {
	var body struct {
		Config  string
		Name    string
		Dataset struct{ Name, Namespace string }
		Hyper   map[string]json.RawMessage `json:"hyperparameters"`
		Output  string                     `json:"output_model"`
	}
	all, _ := json.Marshal(j.Body)
	if err := json.Unmarshal(all, &body); err != nil {
		return "", err.Error()
	}
	var training, finetuning string
	_ = json.Unmarshal(body.Hyper["training_type"], &training)
	_ = json.Unmarshal(body.Hyper["finetuning_type"], &finetuning)
	_, dpo := body.Hyper["dpo"]
	_, sft := body.Hyper["sft"]
	dataset := body.Dataset.Namespace + "/" + body.Dataset.Name
	switch {
	case body.Config != Config && body.Config != "acme/cfg-8b":
		return "config", "no such configuration"
	case finetuning == "" || training != "sft" && training != "dpo":
		return "hyperparameters", "which training?"
	case dpo && training != "dpo" || sft && training != "sft":
		return "hyperparameters", "the block of another training type"
	case s.datasets[dataset] == nil:
		return "dataset", "no such dataset"
	case strings.Count(body.Output, "/") > 1 || strings.Count(body.Output, "@") > 1:
		return "output_model", "not NAMESPACE/NAME@VERSION"
	case body.Name != "" && strings.Trim(body.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return "name", "only lowercase letters, digits and -"
	}
	url, _ := s.datasets[dataset]["files_url"].(string)
	j.Files = s.Hub.Files(strings.TrimPrefix(url, "hf://datasets/"))
	for _, folder := range []string{"training/", "validation/"} {
		if wrong := checkFolder(j.Files, folder, training); wrong != "" {
			return "dataset", wrong
		}
	}
	return "", ""
}

// checkFolder holds the rows of a folder's files to the training type.
func checkFolder(files map[string]string, folder, training string) string {
	keys := map[string][]string{"dpo": {"prompt", "chosen_response", "rejected_response"},
		"sft": {"messages", "tools"}}[training]
	rows := 0
	for path, text := range files {
		if !strings.HasPrefix(path, folder) {
			continue
		}
		if !strings.HasSuffix(text, "\n") {
			return path + " does not end in a line"
		}
		for line := range strings.Lines(text) {
			var row map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &row); err != nil || row[keys[0]] == nil {
				return fmt.Sprintf("%s: %s: %v", path, line, err)
			}
			for key := range row {
				if !slices.Contains(keys, key) {
					return fmt.Sprintf("%s: unexpected key %q", path, key)
				}
			}
			rows++
		}
	}
	if rows == 0 {
		return folder + " is empty"
	}
	return ""
}
