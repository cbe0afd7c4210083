package customizer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
)

func start(t *testing.T, f customizertest.Faults, edit ...func(*customizer.Config)) (*customizer.Trainer, *customizertest.Server) {
	t.Helper()
	s := customizertest.New(f)
	t.Cleanup(s.Close)
	return trainer(t, s, edit...), s
}

func trainer(t *testing.T, s *customizertest.Server, edit ...func(*customizer.Config)) *customizer.Trainer {
	t.Helper()
	cfg := customizer.Config{EntityURL: s.URL + "/", DatastoreURL: s.Datastore.URL, APIKey: customizertest.Key, NIMKey: customizertest.Key,
		DatastoreToken: customizertest.Token,
		Namespace:      "acme", Config: customizertest.Config, Settle: time.Millisecond}
	for _, e := range edit {
		e(&cfg)
	}
	tr, err := customizer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func sft(c *customizer.Config)  { c.TrainingType = customizer.SFT }
func lora(c *customizer.Config) { c.FinetuningType = "lora" }

func TestKind(t *testing.T) {
	backendtest.Kind(t, customizer.Kind, map[string]string{"entity-url": "http://nemo.test", "datastore-url": "http://data-store.test",
		"customization-config": "meta/m@v1"})
}

func TestConformance(t *testing.T) {
	for name, edit := range map[string]func(*customizer.Config){"dpo": func(*customizer.Config) {}, "sft": sft} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) backendtest.Subject {
				tr, s := start(t, customizertest.Faults{}, edit)
				return backendtest.Subject{Trainer: tr, Jobs: func() int { return len(s.Jobs()) }, Secrets: []string{customizertest.Key, customizertest.Token},
					Sent: func() []string { return slices.Collect(maps.Values(s.Hub.Files(s.Hub.Repositories()[0]))) }}
			})
		})
	}
}

func submission() backends.Submission {
	return backends.Submission{Token: "0123456789abcdef0123456789ABCDEF-1", Run: "demo", Epoch: 2, Digest: "d", Guard: func() error { return nil },
		Before: backends.TrainerState{Policy: &receipts.Policy{Model: customizertest.Model, Version: 4}}}
}

func submit(t *testing.T, tr *customizer.Trainer) (backends.Outcome, error) {
	t.Helper()
	if _, err := tr.Begin(t.Context(), nil); err != nil {
		return backends.Outcome{}, err
	}
	return tr.Submit(t.Context(), submission(), backendtest.Batch(), func(backends.JobEvent) {})
}

// follow asks until the job has ended, and notes what it said on the way.
func follow(t *testing.T, tr *customizer.Trainer, id string) (backends.Outcome, []string) {
	t.Helper()
	var said []string
	for range 50 {
		out, err := tr.Status(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, out.State+": "+out.Message)
		if out.State != receipts.JobRunning && out.State != receipts.JobPending {
			return out, said
		}
	}
	t.Fatalf("the job does not end: %q", said)
	return backends.Outcome{}, nil
}

func TestTheDatasetAndTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*customizer.Config)
		row   string
		hyper string
	}{
		"dpo": {func(c *customizer.Config) {
			c.Hyperparameters = map[string]any{"epochs": 3, "batch_size": 2, "learning_rate": 5e-05, "dpo.ref_policy_kl_penalty": 0.1,
				"dpo": map[string]any{"preference_average_log_probs": false}}
		},
			`{"prompt":[{"role":"user","content":"what is example-%d"}],"chosen_response":"answer 3","rejected_response":"answer 0"}` + "\n",
			`{"batch_size":2,"dpo":{"preference_average_log_probs":false,"ref_policy_kl_penalty":0.1},"epochs":3,"finetuning_type":"all_weights","learning_rate":0.00005,"training_type":"dpo"}`},
		"sft": {func(c *customizer.Config) {
			c.TrainingType, c.FinetuningType = customizer.SFT, "lora"
			c.Hyperparameters = map[string]any{"lora.adapter_dim": 16, "lora.target_modules": []any{"q_proj"}, "sft.ffn_dropout": 0.1, "max_steps": -1,
				"seed": nil, "sequence_packing_enabled": true}
		},
			`{"messages":[{"role":"user","content":"what is example-%d"},{"role":"assistant","content":"answer 3"}]}` + "\n",
			`{"finetuning_type":"lora","lora":{"adapter_dim":16,"target_modules":["q_proj"]},"max_steps":-1,"sequence_packing_enabled":true,"sft":{"ffn_dropout":0.1},"training_type":"sft"}`},
		"nothing named": {func(*customizer.Config) {}, "", `{"finetuning_type":"all_weights","training_type":"dpo"}`},
	} {
		t.Run(name, func(t *testing.T) {
			tr, s := start(t, customizertest.Faults{}, c.edit, func(c *customizer.Config) { c.Project, c.OutputModel = "agents", "acme/chess-agent" })
			out, err := submit(t, tr)
			if err != nil || out.State != receipts.JobPending || out.Job != "cust-1-AbC" {
				t.Fatalf("%+v, %v", out, err)
			}
			j := s.Jobs()[0]
			if got := string(j.Body["hyperparameters"]); got != c.hyper {
				t.Errorf("%s\nwant %s", got, c.hyper)
			}
			train, held := j.Files["training/training_file.jsonl"], j.Files["validation/validation_file.jsonl"]
			if n := strings.Count(train, "\n") + strings.Count(held, "\n"); n != 3 || held == "" || train == "" {
				t.Errorf("%q, %q", train, held)
			}
			for e := range 3 {
				if row := fmt.Sprintf(c.row, e); c.row != "" && !strings.Contains(train+held, row) {
					t.Errorf("%q, %q lack %q", train, held, row)
				}
			}
			body, _ := json.Marshal(j.Body)
			for _, part := range []string{`"name":"rollmill-`, `"rollmill":"` + submission().Token + `"`, `"policy_version":"5"`, `"epoch":"2"`,
				`"project":"agents"`, `"output_model":"acme/chess-agent@e2-`, `"namespace":"acme"`, `"config":"` + customizertest.Config} {
				if !strings.Contains(string(body), part) {
					t.Errorf("%s lacks %s", body, part)
				}
			}
			end, said := follow(t, tr, out.Job)
			if end.State != receipts.JobCompleted || end.Metrics["train_loss"] != 0.42 || len(end.MetricSteps) != 2 ||
				string(end.MetricSteps[1]) != `{"step":39,"train_loss":0.42,"val_loss":0.51}` || !strings.Contains(end.Message, "acme/chess-agent@e2-") {
				t.Errorf("%+v after %q", end, said)
			}
		})
	}
}

func TestWhatElseGoesWithAJob(t *testing.T) {
	tr, s := start(t, customizertest.Faults{}, func(c *customizer.Config) {
		c.WandBKey = "wandb-hush"
		c.Integrations = []map[string]any{{"type": "wandb", "project": "agents"}}
		c.DatasetParameters = map[string]any{"in_context_learning": "x"}
	})
	if _, err := submit(t, tr); err != nil {
		t.Fatal(err)
	}
	j := s.Jobs()[0]
	if body, _ := json.Marshal(j.Body); j.WandB != "wandb-hush" || strings.Contains(string(body), "hush") ||
		string(j.Body["integrations"]) != `[{"project":"agents","type":"wandb"}]` || string(j.Body["dataset_parameters"]) != `{"in_context_learning":"x"}` {
		t.Errorf("%q %s", j.WandB, body)
	}
	// The key goes with nothing else, and what is not named is not sent.
	tr, s = start(t, customizertest.Faults{}, func(c *customizer.Config) { c.WandBKey = "wandb-hush" })
	if _, err := submit(t, tr); err != nil {
		t.Fatal(err)
	}
	j = s.Jobs()[0]
	if body, _ := json.Marshal(j.Body); j.WandB != "" || strings.Contains(string(body), "integrations") ||
		strings.Contains(string(body), "dataset_parameters") || strings.Contains(string(body), `"project"`) {
		t.Errorf("%q %s", j.WandB, body)
	}
}
