package customizertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func (s *Server) makeDataset(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		invalid(w, "", err.Error())
		return
	}
	name, _ := body["name"].(string)
	ns, _ := body["namespace"].(string)
	url, _ := body["files_url"].(string)
	switch key := ns + "/" + name; {
	case name == "" || url == "":
		invalid(w, "files_url", "field required")
	case !s.entity[ns]:
		fail(w, http.StatusNotFound, "no such namespace")
	case s.faults.DatasetTaken && s.datasets[key] == nil:
		s.datasets[key] = map[string]any{"name": name, "namespace": ns, "files_url": "hf://datasets/others/data"}
		fallthrough
	case s.datasets[key] != nil:
		fail(w, http.StatusConflict, "dataset exists")
	default:
		body["id"] = "dataset-1"
		s.datasets[key] = body
		answer(w, body)
	}
}

func (s *Server) dataset(w http.ResponseWriter, r *http.Request) {
	d := s.datasets[id(r)]
	if d == nil {
		fail(w, http.StatusNotFound, "no such dataset")
		return
	}
	answer(w, d)
}

func (s *Server) patchDataset(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	d := s.datasets[id(r)]
	if d == nil {
		fail(w, http.StatusNotFound, "no such dataset")
		return
	}
	if !s.faults.DatasetStuck {
		d["files_url"] = body["files_url"]
	}
	answer(w, d)
}

func (s *Server) listConfigs(w http.ResponseWriter, r *http.Request) {
	var all []map[string]any
	for n := range 12 { // the one that is meant is not on the first page of 10
		all = append(all, map[string]any{"name": fmt.Sprintf("other-%d@v1.0.0+A100", n), "namespace": "meta",
			"target": fmt.Sprintf("meta/other-%d@1.0", n), "training_options": []any{}, "max_seq_length": nil})
	}
	var options []any
	for _, training := range []string{"sft", "dpo"} {
		for _, finetuning := range []string{"lora", "lora_merged", "all_weights"} {
			options = append(options,
				map[string]any{"training_type": training, "finetuning_type": finetuning, "num_gpus": 2, "num_nodes": 1,
					"micro_batch_size": 1, "data_parallel_size": 2})
		}
	}
	name := strings.TrimPrefix(Config, "meta/")
	all = append(all,
		map[string]any{"name": name, "namespace": "meta", "target": Model + "@2.0", "training_options": options,
			"max_seq_length": 4096},
		map[string]any{"name": "cfg-8b", "namespace": "acme",
			"target":           map[string]any{"name": "llama-3.1-8b-instruct@2.0", "namespace": "meta"},
			"training_options": options[:1], "max_seq_length": 6})
	page(s, w, r, all)
}

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
