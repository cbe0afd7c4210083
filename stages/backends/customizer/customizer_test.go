package customizer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
)

func start(t *testing.T, f customizertest.Faults, edit ...func(*customizer.Config)) (*customizer.Trainer, *customizertest.Server) {
	t.Helper()
	s := customizertest.New(f)
	t.Cleanup(s.Close)
	return trainer(t, s, edit...), s
}

func trainer(t *testing.T, s *customizertest.Server, edit ...func(*customizer.Config)) *customizer.Trainer {
	t.Helper()
	cfg := customizer.Config{EntityURL: s.URL + "/", DatastoreURL: s.Datastore.URL, APIKey: customizertest.Key, NIMKey: customizertest.Key, DatastoreToken: customizertest.Token,
		Namespace: "acme", Config: customizertest.Config, Settle: time.Millisecond}
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

func TestConformance(t *testing.T) {
	for name, edit := range map[string]func(*customizer.Config){"dpo": func(*customizer.Config) {}, "sft": sft} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) backendtest.Subject {
				tr, s := start(t, customizertest.Faults{}, edit)
				return backendtest.Subject{Trainer: tr, Jobs: func() int { return len(s.Jobs()) }, Secrets: []string{customizertest.Key, customizertest.Token}}
			})
		})
	}
}

func submission() formats.Submission {
	return formats.Submission{Token: "0123456789abcdef0123456789ABCDEF-1", Run: "demo", Epoch: 2, Digest: "d", Guard: func() error { return nil },
		Before: formats.Standing{Policy: &formats.Policy{Model: customizertest.Model, Version: 4}}}
}

func submit(t *testing.T, tr *customizer.Trainer) (formats.Outcome, error) {
	t.Helper()
	if _, err := tr.Begin(t.Context(), nil); err != nil {
		return formats.Outcome{}, err
	}
	return tr.Submit(t.Context(), submission(), backendtest.Batch(), func(formats.JobEvent) {})
}

// follow asks until the job has ended, and notes what it said on the way.
func follow(t *testing.T, tr *customizer.Trainer, id string) (formats.Outcome, []string) {
	t.Helper()
	var said []string
	for range 50 {
		out, err := tr.Status(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, out.State+": "+out.Message)
		if out.State != formats.JobRunning && out.State != formats.JobPending {
			return out, said
		}
	}
	t.Fatalf("the job does not end: %q", said)
	return formats.Outcome{}, nil
}

func TestTheDatasetAndTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*customizer.Config)
		row   string
		hyper string
	}{
		"dpo": {func(c *customizer.Config) {
			c.Hyperparameters = map[string]any{"epochs": 3, "batch_size": 2, "learning_rate": 5e-05, "dpo.ref_policy_kl_penalty": 0.1, "dpo": map[string]any{"preference_average_log_probs": false}}
		},
			`{"prompt":[{"role":"user","content":"what is example-%d"}],"chosen_response":"answer 3","rejected_response":"answer 0"}` + "\n",
			`{"batch_size":2,"dpo":{"preference_average_log_probs":false,"ref_policy_kl_penalty":0.1},"epochs":3,"finetuning_type":"all_weights","learning_rate":0.00005,"training_type":"dpo"}`},
		"sft": {func(c *customizer.Config) {
			c.TrainingType, c.FinetuningType = customizer.SFT, "lora"
			c.Hyperparameters = map[string]any{"lora.adapter_dim": 16, "lora.target_modules": []any{"q_proj"}, "sft.ffn_dropout": 0.1, "max_steps": -1, "seed": nil, "sequence_packing_enabled": true}
		},
			`{"messages":[{"role":"user","content":"what is example-%d"},{"role":"assistant","content":"answer 3"}]}` + "\n",
			`{"finetuning_type":"lora","lora":{"adapter_dim":16,"target_modules":["q_proj"]},"max_steps":-1,"sequence_packing_enabled":true,"sft":{"ffn_dropout":0.1},"training_type":"sft"}`},
		"nothing named": {func(*customizer.Config) {}, "", `{"finetuning_type":"all_weights","training_type":"dpo"}`},
	} {
		t.Run(name, func(t *testing.T) {
			tr, s := start(t, customizertest.Faults{}, c.edit, func(c *customizer.Config) { c.Project, c.OutputModel = "agents", "acme/chess-agent" })
			out, err := submit(t, tr)
			if err != nil || out.State != formats.JobPending || out.Job != "cust-1-AbC" {
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
			for _, part := range []string{`"name":"rollmill-`, `"rollmill":"` + submission().Token + `"`, `"policy_version":"5"`, `"epoch":"2"`, `"project":"agents"`, `"output_model":"acme/chess-agent@e2-`, `"namespace":"acme"`, `"config":"` + customizertest.Config} {
				if !strings.Contains(string(body), part) {
					t.Errorf("%s lacks %s", body, part)
				}
			}
			end, said := follow(t, tr, out.Job)
			if end.State != formats.JobCompleted || end.Metrics["train_loss"] != 0.42 || len(end.MetricSteps) != 2 || string(end.MetricSteps[1]) != `{"step":39,"train_loss":0.42,"val_loss":0.51}` || !strings.Contains(end.Message, "acme/chess-agent@e2-") {
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
	if body, _ := json.Marshal(j.Body); j.WandB != "" || strings.Contains(string(body), "integrations") || strings.Contains(string(body), "dataset_parameters") || strings.Contains(string(body), `"project"`) {
		t.Errorf("%q %s", j.WandB, body)
	}
}

func TestTheDataStoreIsAskedBeforeABatchIsMade(t *testing.T) {
	tr, s := start(t, customizertest.Faults{})
	s.Datastore.Close()
	var temporary interface{ Temporary() bool }
	if _, err := tr.Preflight(t.Context(), backendtest.Batch(), func(formats.Problem) {}); !errors.As(err, &temporary) || !temporary.Temporary() {
		t.Error(err)
	}
}

func TestTheSplitIsByExample(t *testing.T) {
	groups := func(yield func([]formats.Trajectory, error) bool) {
		for e := range 60 {
			if !yield(backendtest.Group(e%30), nil) {
				return
			}
		}
	}
	split := func(seed int64) (train, held string) {
		tr, s := start(t, customizertest.Faults{}, func(c *customizer.Config) { c.SplitSeed, c.Validation = seed, 0.3 })
		if _, err := tr.Begin(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Submit(t.Context(), submission(), groups, func(formats.JobEvent) {}); err != nil {
			t.Fatal(err)
		}
		files := s.Jobs()[0].Files
		return files["training/training_file.jsonl"], files["validation/validation_file.jsonl"]
	}
	train, held := split(1)
	if n := strings.Count(train, "\n") + strings.Count(held, "\n"); n != 60 || strings.Count(held, "\n") < 6 {
		t.Errorf("%d lines, %d held out", n, strings.Count(held, "\n"))
	}
	for line := range strings.Lines(held) {
		if strings.Contains(train, line) {
			t.Errorf("on both sides: %s", line)
		}
	}
	if again, _ := split(1); again != train {
		t.Error("the same seed gives another split")
	}
	if other, _ := split(2); other == train {
		t.Error("another seed gives the same split")
	}
}

func TestADatasetIsNamedAfterItsContent(t *testing.T) {
	tr, s := start(t, customizertest.Faults{}, func(c *customizer.Config) { c.Dataset = "nat-dpo" })
	for range 2 {
		if _, err := submit(t, tr); err != nil {
			t.Fatal(err)
		}
	}
	repos := s.Hub.Repositories()
	if len(repos) != 1 || !strings.HasPrefix(repos[0], "acme/nat-dpo-") || len(s.Hub.Commits(repos[0])) != 1 || len(s.Jobs()) != 1 {
		t.Errorf("%q, %d jobs", repos, len(s.Jobs()))
	}
	// A file that somebody left there is not trained on.
	s.Hub.Put(repos[0], "training/old.jsonl", "{}\n")
	other := submission()
	other.Token = "another"
	if _, err := tr.Submit(t.Context(), other, backendtest.Batch(), func(formats.JobEvent) {}); err != nil {
		t.Fatal(err)
	}
	if files := s.Jobs()[1].Files; files["training/old.jsonl"] != "" || len(s.Jobs()) != 2 {
		t.Errorf("%q", files)
	}
}

// The Data Store is a hub: what it may do wrong, and still every job sees both
// files, by one commit.
func TestTheDataStoreIsClumsy(t *testing.T) {
	for name, f := range map[string]hubtest.Faults{
		"an empty commit address":  {EmptyCommitURL: true},
		"regular files":            {Modes: map[string]string{".jsonl": "regular"}},
		"large files in parts":     {ChunkSize: 50},
		"a stale parent (412)":     {Intruders: 1},
		"500, but applied":         {AppliedThen500: 1},
		"applied, and dropped":     {DropAfterCommit: 1},
		"not applied, and dropped": {DropBeforeCommit: 1},
		"no head":                  {NoHead: true, NoOID: true, AppliedThen500: 1},
		"busy":                     {Busy: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, s := start(t, customizertest.Faults{Store: f})
			out, err := submit(t, tr)
			if err != nil || out.Job == "" {
				t.Fatalf("%+v, %v", out, err)
			}
			ours := slices.DeleteFunc(s.Hub.Commits(s.Hub.Repositories()[0]), func(title string) bool { return title == "by somebody else" })
			if len(ours) != 1 || len(s.Jobs()[0].Files) < 3 {
				t.Errorf("%q, %q", ours, s.Jobs()[0].Files)
			}
		})
	}
}

func TestTheDataStoreRefuses(t *testing.T) {
	for want, f := range map[string]hubtest.Faults{
		"400: no commits today": {CommitRefused: 400},
		"not acceptable":        {BatchError: "not acceptable"},
		"don't have the rights": {CreateForbidden: true},
	} {
		tr, s := start(t, customizertest.Faults{Store: f})
		if out, err := submit(t, tr); err == nil || !out.Clean || !strings.Contains(err.Error(), want) || len(s.Jobs()) != 0 {
			t.Errorf("%s: %+v, %v", want, out, err)
		}
	}
}

func TestTheConnectionDropsAfterTheJobWasStored(t *testing.T) {
	for name, f := range map[string]customizertest.Faults{
		"dropped":            {DropAfterJob: true},
		"no custom fields":   {DropAfterJob: true, NoFields: true},
		"among many":         {DropAfterJob: true, OtherJobs: 25},
		"no count of pages":  {DropAfterJob: true, OtherJobs: 25, NoPages: true},
		"an empty answer":    {EmptyJobAnswer: true},
		"found by its token": {DropAfterJob: true, Statuses: []string{"running"}},
	} {
		tr, s := start(t, f)
		out, err := submit(t, tr)
		if err != nil || out.Job != "cust-1-AbC" || len(s.Jobs()) != 1 || out.State != formats.JobPending && out.State != formats.JobRunning {
			t.Errorf("%s: %+v, %v, %d jobs", name, out, err, len(s.Jobs()))
		}
		if again, err := submit(t, tr); err != nil || again.Job != out.Job || len(s.Jobs()) != 1 {
			t.Errorf("%s: %+v, %v, %d jobs", name, again, err, len(s.Jobs()))
		}
	}
}

func TestTheConnectionDropsBeforeTheJobWasStored(t *testing.T) {
	tr, s := start(t, customizertest.Faults{DropBeforeJob: true})
	if out, err := submit(t, tr); err == nil || out.State != formats.JobFailed || !out.Clean || len(s.Jobs()) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTheServiceRefusesAJob(t *testing.T) {
	for _, code := range []int{422, 429, 503} {
		tr, s := start(t, customizertest.Faults{JobStatus: code})
		if out, err := submit(t, tr); err == nil || !out.Clean || !strings.Contains(err.Error(), fmt.Sprint(code, ": no jobs today")) || len(s.Jobs()) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

func TestHowAJobEnds(t *testing.T) {
	for name, c := range map[string]struct {
		faults         customizertest.Faults
		state, message string
	}{
		"failed at 100 %":      {customizertest.Faults{Statuses: []string{"running", "failed"}, Failure: "CUDA out of memory"}, formats.JobFailed, "CUDA out of memory"},
		"failed without words": {customizertest.Faults{Statuses: []string{"failed"}}, formats.JobFailed, "Trainingfailed"},
		"canceled":             {customizertest.Faults{Statuses: []string{"cancelling", "canceled"}}, formats.JobCancelled, "a cancelled job leaves no checkpoint"},
		"no progress":          {customizertest.Faults{NullProgress: true}, formats.JobCompleted, "the model is "},
		"ready":                {customizertest.Faults{Statuses: []string{"unknown", "pondering", "ready"}}, formats.JobCompleted, "the model is "},
		"500 twice":            {customizertest.Faults{StatusFails: 2}, formats.JobCompleted, "the model is "},
		"the model comes late": {customizertest.Faults{LateModel: 2}, formats.JobCompleted, "the model is "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, _ := start(t, c.faults)
			out, err := submit(t, tr)
			if err != nil {
				t.Fatal(err)
			}
			end, said := follow(t, tr, out.Job)
			if end.State != c.state || !strings.HasPrefix(end.Message, c.message) || end.Policy != nil || end.Clean {
				t.Errorf("%+v after %q", end, said)
			}
		})
	}
}

func TestAnUnknownStatusIsNamed(t *testing.T) {
	for _, word := range []string{"pondering", "unknown"} {
		tr, _ := start(t, customizertest.Faults{Statuses: []string{word}})
		out, _ := submit(t, tr)
		if now, err := tr.Status(t.Context(), out.Job); err != nil || now.State != formats.JobRunning || !now.Strange || !strings.Contains(now.Message, word) {
			t.Errorf("%+v, %v", now, err)
		}
	}
}

// A job that gets nowhere says the same each time: that is how a stall is seen.
func TestAJobThatStalls(t *testing.T) {
	tr, _ := start(t, customizertest.Faults{Statuses: []string{"pending"}, NoResources: true})
	out, _ := submit(t, tr)
	one, err := tr.Status(t.Context(), out.Job)
	if err != nil || one.State != formats.JobPending || !strings.Contains(one.Message, "NotEnoughResources") {
		t.Errorf("%+v, %v", one, err)
	}
	two, _ := tr.Status(t.Context(), out.Job)
	if fmt.Sprint(one) != fmt.Sprint(two) {
		t.Errorf("%+v, then %+v", one, two)
	}
}

func TestAJobIsCancelled(t *testing.T) {
	tr, _ := start(t, customizertest.Faults{Statuses: []string{"running"}})
	out, _ := submit(t, tr)
	now, err := tr.Cancel(t.Context(), out.Job)
	if err != nil || now.State != formats.JobRunning || !strings.HasPrefix(now.Message, "cancelling") {
		t.Errorf("%+v, %v", now, err)
	}
	if end, said := follow(t, tr, out.Job); end.State != formats.JobCancelled {
		t.Errorf("%+v after %q", end, said)
	}
	tr, _ = start(t, customizertest.Faults{Statuses: []string{"completed"}, CancelTooLate: true})
	out, _ = submit(t, tr)
	if now, err := tr.Cancel(t.Context(), out.Job); err != nil || now.State != formats.JobCompleted {
		t.Errorf("%+v, %v", now, err)
	}
}

func deploy(s *customizertest.Server) func(*customizer.Config) {
	return func(c *customizer.Config) {
		c.NIMURL = s.URL + "/v1/"
		c.Deployment = customizer.Deployment{Image: "nvcr.io/nim/meta/llama-3.2-1b-instruct:1.8.3", GPUs: 2, Env: map[string]string{"NIM_LOG": "1"}}
	}
}

func TestTheModelIsDeployed(t *testing.T) {
	for name, f := range map[string]customizertest.Faults{
		"as it should be":                    {},
		"500 that means exists":              {DeploymentExists500: true},
		"not on the first page of a list":    {OtherDeployments: 11},
		"the NIM lists it late":              {LateList: 3},
		"deployed, in another word and case": {DeploymentStates: []string{"Pending", "Deployed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := customizertest.New(f)
			defer s.Close()
			tr := trainer(t, s, deploy(s))
			out, err := submit(t, tr)
			if err != nil {
				t.Fatal(err)
			}
			end, said := follow(t, tr, out.Job)
			bodies, configs := s.Deployments()
			if len(bodies) != 1 || len(configs) != 1 {
				t.Fatalf("%v, %v", bodies, configs)
			}
			model, _ := configs[0]["model"].(string)
			if end.State != formats.JobCompleted || end.Policy == nil || end.Policy.Model != model || end.Policy.URL != s.URL+"/v1" || end.Policy.Version != 5 || model == "" {
				t.Errorf("%+v, policy %+v after %q", end, end.Policy, said)
			}
			nim, _ := json.Marshal(configs[0]["nim_deployment"])
			if want := `{"additional_envs":{"NIM_LOG":"1"},"gpu":2,"image_name":"nvcr.io/nim/meta/llama-3.2-1b-instruct","image_tag":"1.8.3"}`; string(nim) != want {
				t.Errorf("%s", nim)
			}
			if f.LateList > 0 && !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "does not list it") }) {
				t.Errorf("%q", said)
			}
		})
	}
}

func TestADeploymentThatFailsWasTrainedAllTheSame(t *testing.T) {
	for _, word := range []string{"failed", "error", "cancelled"} {
		s := customizertest.New(customizertest.Faults{DeploymentStates: []string{"pending", word}})
		tr := trainer(t, s, deploy(s))
		out, _ := submit(t, tr)
		if end, _ := follow(t, tr, out.Job); end.State != formats.JobCompleted || end.Policy != nil || !strings.Contains(end.Message, "its deployment failed: "+word+": deployment "+word) {
			t.Errorf("%+v", end)
		}
		s.Close()
	}
}

func TestLoRANeedsNoDeployment(t *testing.T) {
	s := customizertest.New(customizertest.Faults{LateList: 2})
	defer s.Close()
	nim := func(c *customizer.Config) { c.NIMURL = s.URL }
	tr := trainer(t, s, lora, nim)
	standing, err := tr.Begin(t.Context(), nil)
	if err != nil || standing.Policy.Model != customizertest.Model || standing.Policy.URL != s.URL+"/v1" {
		t.Errorf("%+v, %v", standing.Policy, err)
	}
	out, _ := submit(t, tr)
	end, said := follow(t, tr, out.Job)
	if bodies, _ := s.Deployments(); len(bodies) != 0 || end.Policy == nil || len(said) != 6 {
		t.Errorf("%+v after %q, %v", end, said, bodies)
	}
	full := trainer(t, s, nim)
	if end, _ := follow(t, full, out.Job); end.State != formats.JobCompleted || end.Policy != nil || !strings.Contains(end.Message, "--deployment-image") {
		t.Errorf("%+v", end)
	}
}

func TestNamespaces(t *testing.T) {
	tr, _ := start(t, customizertest.Faults{NamespaceExist: true}) // 409 after the look
	if _, err := submit(t, tr); err != nil {
		t.Error(err)
	}
	tr, s := start(t, customizertest.Faults{NamespaceGone: true}) // 422 that means it
	if _, err := submit(t, tr); err == nil || !strings.Contains(err.Error(), "no such namespace may be made") || len(s.Jobs()) != 0 {
		t.Error(err)
	}
}

func TestADatasetOfAnotherMeaning(t *testing.T) {
	tr, s := start(t, customizertest.Faults{DatasetTaken: true})
	if _, err := submit(t, tr); err != nil || len(s.Jobs()[0].Files) < 3 {
		t.Error(err)
	}
	tr, s = start(t, customizertest.Faults{DatasetTaken: true, DatasetStuck: true})
	if out, err := submit(t, tr); err == nil || !out.Clean || !strings.Contains(err.Error(), `means "hf://datasets/others/data"`) || len(s.Jobs()) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTheNewerPlatformIsNamed(t *testing.T) {
	tr, _ := start(t, customizertest.Faults{Newer: true})
	_, err := tr.Preflight(t.Context(), backendtest.Batch(), func(formats.Problem) {})
	var hinted interface{ Hint() string }
	if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "NeMo Platform") {
		t.Error(err)
	}
}

func TestAKeyIsNeverSaid(t *testing.T) {
	wrong := "nvapi-another-secret"
	tr, _ := start(t, customizertest.Faults{EchoesKey: true}, func(c *customizer.Config) { c.APIKey = wrong })
	_, err := tr.Begin(t.Context(), nil)
	var misused interface{ Misused() bool }
	if err == nil || strings.Contains(err.Error(), wrong) || !errors.As(err, &misused) || !misused.Misused() {
		t.Error(err)
	}
	// Without a key no header is sent at all: an empty one is illegal.
	tr, s := start(t, customizertest.Faults{Open: true}, func(c *customizer.Config) { c.APIKey, c.DatastoreToken = "", "" })
	if _, err := submit(t, tr); err != nil || len(s.Jobs()) != 1 {
		t.Error(err)
	}
}

func TestPreflightRefuses(t *testing.T) {
	alike, tools, last := backendtest.Group(0), backendtest.Group(0), backendtest.Group(0)
	for i := range alike {
		alike[i].Messages[1].Content = "equal"
		tools[i].Messages[1].ToolCalls = []formats.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}
		last[i].Messages[0].Role = "system"
	}
	withTools := backendtest.Group(1)
	for i := range withTools {
		withTools[i].ToolSets, withTools[i].Calls[0].Tools = []string{`[{"type":"function"}]`}, 0
	}
	small := func(c *customizer.Config) {
		c.Config, c.TrainingType, c.FinetuningType = "acme/cfg-8b", customizer.SFT, "lora"
	}
	for name, c := range map[string]struct {
		reason string
		edit   func(*customizer.Config)
		groups [][]formats.Trajectory
	}{
		"equal answers":         {customizer.NoRow, lora, [][]formats.Trajectory{alike, backendtest.Group(1)}},
		"tools in a pair":       {customizer.NoRow, lora, [][]formats.Trajectory{tools, backendtest.Group(1)}},
		"no question":           {customizer.NoRow, lora, [][]formats.Trajectory{last, backendtest.Group(1)}},
		"one example":           {customizer.NoHeldOut, lora, [][]formats.Trajectory{backendtest.Group(0), backendtest.Group(0)}},
		"fewer than a batch":    {customizer.TooFew, func(c *customizer.Config) { c.Hyperparameters = map[string]any{"batch_size": 4} }, [][]formats.Trajectory{backendtest.Group(0), backendtest.Group(1)}},
		"longer than the model": {customizer.TooLong, small, [][]formats.Trajectory{backendtest.Group(0), backendtest.Group(1)}},
		"some rows with tools":  {customizer.Mixed, sft, [][]formats.Trajectory{backendtest.Group(0), withTools}},
	} {
		tr, s := start(t, customizertest.Faults{}, c.edit)
		var reasons []string
		_, err := tr.Preflight(t.Context(), func(yield func([]formats.Trajectory, error) bool) {
			for _, g := range c.groups {
				if !yield(g, nil) {
					return
				}
			}
		}, func(p formats.Problem) { reasons = append(reasons, p.Reason) })
		if err != nil || !slices.Contains(reasons, c.reason) || len(s.Jobs()) != 0 {
			t.Errorf("%s: %q, %v", name, reasons, err)
		}
	}
}

func TestAPromptOnBothSidesIsNoted(t *testing.T) {
	tr, _ := start(t, customizertest.Faults{})
	load, err := tr.Preflight(t.Context(), func(yield func([]formats.Trajectory, error) bool) {
		for e := range 4 {
			g := backendtest.Group(e)
			for i := range g {
				g[i].Messages[0].Content = "your move"
			}
			if !yield(g, nil) {
				return
			}
		}
	}, func(p formats.Problem) { t.Errorf("%+v", p) })
	if err != nil || !strings.Contains(fmt.Sprint(load.Notes), "1 prompts of examples held out are trained on too") {
		t.Errorf("%q, %v", load.Notes, err)
	}
}

func TestAConfigurationThatDoesNotFit(t *testing.T) {
	for want, edit := range map[string]func(*customizer.Config){
		`no customization configuration "meta/none"`: func(c *customizer.Config) { c.Config = "meta/none" },
		"does not train dpo of all_weights":          func(c *customizer.Config) { c.Config = "acme/cfg-8b" },
		"no address of the Data Store":               func(c *customizer.Config) { c.DatastoreURL = "" },
		"micro batches of 1 on 2 devices":            func(c *customizer.Config) { c.Hyperparameters = map[string]any{"batch_size": 3} },
	} {
		tr, _ := start(t, customizertest.Faults{}, edit)
		var misused interface{ Misused() bool }
		if _, err := tr.Preflight(t.Context(), backendtest.Batch(), func(formats.Problem) {}); err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &misused) || !misused.Misused() {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	good := customizer.Config{EntityURL: "http://nemo.test", DatastoreURL: "http://data-store.test", Config: "meta/m@v1"}
	if _, err := customizer.New(good); err != nil {
		t.Fatal(err)
	}
	hyper := func(name string, v any) func(*customizer.Config) {
		return func(c *customizer.Config) { c.Hyperparameters = map[string]any{name: v} }
	}
	for want, edit := range map[string]func(*customizer.Config){
		"Entity Store":                 func(c *customizer.Config) { c.EntityURL = "nemo.test" },
		"Data Store":                   func(c *customizer.Config) { c.DatastoreURL = "data-store" },
		"of the NIM":                   func(c *customizer.Config) { c.NIMURL = "nim" },
		"no customization":             func(c *customizer.Config) { c.Config = "" },
		"unknown training type":        func(c *customizer.Config) { c.TrainingType = "grpo" },
		"unknown finetuning type":      func(c *customizer.Config) { c.FinetuningType = "qlora" },
		"output model":                 func(c *customizer.Config) { c.OutputModel = "chess" },
		"validation share":             func(c *customizer.Config) { c.Validation = 1 },
		"name of the deployment":       func(c *customizer.Config) { c.Deployment.Name = "my_nim" },
		"image of the deployment":      func(c *customizer.Config) { c.Deployment.Image = "registry:5000/nim" },
		"GPUs":                         func(c *customizer.Config) { c.Deployment.GPUs = -1 },
		"repository":                   func(c *customizer.Config) { c.Namespace = "a b" },
		`no hyperparameter "epoch"`:    hyper("epoch", 1),
		"must be a whole number of 1":  hyper("epochs", 1.5),
		"must be a number over 0":      hyper("learning_rate", 0),
		"must be true or false":        hyper("sequence_packing_enabled", "yes"),
		"must be a list of words":      hyper("lora.target_modules", []any{1}),
		`dpo has no hyperparameter`:    hyper("sft.ffn_dropout", 0.1),
		"all_weights has no":           func(c *customizer.Config) { hyper("lora.alpha", 16)(c); c.FinetuningType = "all_weights" },
		"must be a number from 0 to 1": hyper("adam_beta1", 1.5),
	} {
		c := good
		c.FinetuningType = "lora"
		edit(&c)
		if _, err := customizer.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
