package openai_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
	"github.com/rollmill/rollmill/storage/fault"
)

func start(t *testing.T, f openaitest.Faults, edit ...func(*openai.Config)) (*openai.Trainer, *openaitest.Server) {
	t.Helper()
	server := openaitest.New(f)
	t.Cleanup(server.Close)
	cfg := openai.Config{BaseURL: server.URL, APIKey: openaitest.Key, Model: "gpt-test", MinRows: 1, Settle: time.Millisecond, Poll: time.Millisecond}
	for _, e := range edit {
		e(&cfg)
	}
	tr, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr, server
}

func method(name string) func(*openai.Config) {
	return func(c *openai.Config) { c.Method = name }
}

func TestKind(t *testing.T) {
	backendtest.Kind(t, openai.Kind, map[string]string{"base-model": "m", "fine-tuning-url": "http://tune.test/v1"})
}

func TestConformance(t *testing.T) {
	for _, m := range openai.Methods {
		t.Run(m, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) backendtest.Subject {
				tr, server := start(t, openaitest.Faults{}, method(m))
				return backendtest.Subject{Trainer: tr, Jobs: func() int { return len(server.Jobs()) }, Secrets: []string{openaitest.Key},
					Sent: func() []string { return []string{server.File("training"), server.File("validation")} }}
			})
		})
	}
}

func submission() backends.Submission {
	return backends.Submission{Token: "token-1", Run: "run", Epoch: 2, Guard: func() error { return nil },
		Before: backends.TrainerState{Policy: &receipts.Policy{Model: "gpt-test", Version: 4}}}
}

func submit(t *testing.T, tr *openai.Trainer) (backends.Outcome, error) {
	t.Helper()
	return tr.Submit(t.Context(), submission(), backendtest.Batch(), func(backends.JobEvent) {})
}

// follow asks until the job has ended.
func follow(t *testing.T, tr *openai.Trainer, id string) backends.Outcome {
	t.Helper()
	for range 50 {
		out, err := tr.Status(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if out.State != receipts.JobRunning && out.State != receipts.JobPending {
			return out
		}
	}
	t.Fatal("the job does not end")
	return backends.Outcome{}
}

func TestTheFilesAndTheJob(t *testing.T) {
	seed := int64(7)
	for m, want := range map[string]string{
		openai.Supervised: `{"messages":[{"role":"user","content":"what is example-0"},{"role":"assistant","content":"answer 3","weight":1}]}`,
		openai.DPO:        `{"input":{"messages":[{"role":"user","content":"what is example-0"}]},"preferred_output":[{"role":"assistant","content":"answer 3"}],"non_preferred_output":[{"role":"assistant","content":"answer 0"}]}`,
	} {
		tr, server := start(t, openaitest.Faults{}, method(m), func(c *openai.Config) {
			c.Suffix, c.Seed, c.Hyperparameters = "agent", &seed, map[string]any{"n_epochs": 2, "batch_size": "auto"}
		})
		out, err := submit(t, tr)
		if err != nil || out.State != receipts.JobPending || out.Job != "ftjob-1" {
			t.Fatalf("%s: %+v, %v", m, out, err)
		}
		lines := strings.Split(server.File("training"), "\n")
		if len(lines) != 4 || lines[0] != want {
			t.Errorf("%s: %s", m, lines)
		}
		body, _ := json.Marshal(server.Jobs()[0].Body)
		for _, part := range []string{`"suffix":"agent"`, `"seed":7`, `"type":"` + m + `"`, `"hyperparameters":{"batch_size":"auto","n_epochs":2}`,
			`"rollmill":"token-1"`, `"epoch":"2"`, `"policy_version":"5"`} {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s: %s lacks %s", m, body, part)
			}
		}
		if end := follow(t, tr, out.Job); end.State != receipts.JobCompleted || end.Policy.Model != "ft:ftjob-1" || end.Policy.Version != 5 ||
			end.Metrics["train_loss"] != 0.25 || len(end.MetricSteps) != 2 {
			t.Errorf("%s: %+v", m, end)
		}
	}
}

func TestTheSplitIsByExample(t *testing.T) {
	tr, server := start(t, openaitest.Faults{}, func(c *openai.Config) { c.Validation = 0.5 })
	groups := func(yield func([]formats.Trajectory, error) bool) {
		for e := range 40 {
			if !yield(backendtest.Group(e%20), nil) {
				return
			}
		}
	}
	if _, err := tr.Submit(t.Context(), submission(), groups, func(backends.JobEvent) {}); err != nil {
		t.Fatal(err)
	}
	train, held := server.File("training"), server.File("validation")
	if n := strings.Count(train, "\n") + strings.Count(held, "\n"); n != 40 || held == "" {
		t.Errorf("%d lines, %d held out", n, strings.Count(held, "\n"))
	}
	for line := range strings.Lines(held) {
		if strings.Contains(train, line) {
			t.Errorf("on both sides: %s", line)
		}
	}
}

func TestAzure(t *testing.T) {
	tr, server := start(t, openaitest.Faults{Azure: true, FileStatuses: []string{"pending", "pending", "processed"},
		JobStatuses: []string{"created", "pending", "running", "succeeded"}}, method(openai.DPO),
		func(c *openai.Config) { c.Azure, c.Hyperparameters = true, map[string]any{"beta": 0.2} })
	out, err := submit(t, tr)
	if err != nil {
		t.Fatal(err)
	}
	if end := follow(t, tr, out.Job); end.State != receipts.JobCompleted {
		t.Errorf("%+v", end)
	}
	if body := string(server.Jobs()[0].Body["method"]); body != `{"dpo":{"beta":0.2},"type":"dpo"}` {
		t.Error(body)
	}
}

// What the service may do wrong, and what comes of it.
func TestTheConnectionDropsAfterTheJobWasStored(t *testing.T) {
	for _, f := range []openaitest.Faults{{DropAfterJob: true}, {DropAfterJob: true, NoMetadata: true}, {DropAfterJob: true, OtherJobs: 250, PageSize: 20},
		{EmptyJobAnswer: true}} {
		tr, server := start(t, f)
		out, err := submit(t, tr)
		if err != nil || out.Job == "" || len(server.Jobs()) != 1 || out.State != receipts.JobPending && out.State != receipts.JobRunning {
			t.Errorf("%+v: %+v, %v, %d jobs", f, out, err, len(server.Jobs()))
		}
	}
}

func TestTheConnectionDropsBeforeTheJobWasStored(t *testing.T) {
	tr, server := start(t, openaitest.Faults{DropBeforeJob: true})
	if out, err := submit(t, tr); err == nil || out.State != receipts.JobFailed || !out.Clean || len(server.Jobs()) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTheServiceIsClosed(t *testing.T) {
	tr, _ := start(t, openaitest.Faults{JobStatus: 403})
	out, err := submit(t, tr)
	if !out.Clean || err == nil || !strings.Contains(err.Error(), "403: fine-tuning is closed for this organization (model)") || fault.HintOf(err) == "" ||
		!strings.Contains(fault.HintOf(err), "--fine-tuning-url") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTheServiceIsBusy(t *testing.T) {
	tr, _ := start(t, openaitest.Faults{Busy: 2})
	out, err := submit(t, tr)
	if err != nil || follow(t, tr, out.Job).State != receipts.JobCompleted {
		t.Errorf("%+v, %v", out, err)
	}
	tr, _ = start(t, openaitest.Faults{JobStatus: 429})
	if out, err := submit(t, tr); !out.Clean || fault.KindOf(err) != fault.Temporary {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAFileIsRefused(t *testing.T) {
	tr, server := start(t, openaitest.Faults{FileStatuses: []string{"uploaded", "error"}})
	if out, err := submit(t, tr); !out.Clean || err == nil || !strings.Contains(err.Error(), "line 3 is bad") || len(server.Jobs()) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	tr, _ = start(t, openaitest.Faults{FilesRefused: 500})
	if out, err := submit(t, tr); !out.Clean || err == nil {
		t.Errorf("%+v, %v", out, err)
	}
	tr, _ = start(t, openaitest.Faults{FileStatuses: []string{"uploaded"}}, func(c *openai.Config) { c.FileTimeout = 20 * time.Millisecond })
	if out, err := submit(t, tr); !out.Clean || err == nil || !strings.Contains(err.Error(), "not processed within 20ms") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestHowAJobEnds(t *testing.T) {
	for _, c := range []struct {
		faults         openaitest.Faults
		state, message string
	}{
		{openaitest.Faults{JobStatuses: []string{"running", "failed"}, JobError: `{"code":"invalid_training_file","message":"too short","param":null}`},
			receipts.JobFailed, "invalid_training_file: too short"},
		{openaitest.Faults{JobStatuses: []string{"failed"}, JobError: `{"code":400,"message":"bad"}`}, receipts.JobFailed, "400: bad"},
		{openaitest.Faults{JobStatuses: []string{"failed"}, JobError: `{"code":null,"message":null}`}, receipts.JobFailed, ""},
		{openaitest.Faults{JobStatuses: []string{"running", "canceled"}}, receipts.JobCancelled, ""},
		{openaitest.Faults{LateModel: 3}, receipts.JobCompleted, ""},
		{openaitest.Faults{JobStatuses: []string{"paused", "pondering", "succeeded"}}, receipts.JobCompleted, ""},
	} {
		tr, _ := start(t, c.faults)
		out, err := submit(t, tr)
		if err != nil {
			t.Fatal(err)
		}
		end := follow(t, tr, out.Job)
		if end.State != c.state || end.Message != c.message || (end.Policy != nil) != (c.state == receipts.JobCompleted) {
			t.Errorf("%+v: %+v", c.faults, end)
		}
	}
}

func TestAnUnknownStatusIsNamed(t *testing.T) {
	tr, _ := start(t, openaitest.Faults{JobStatuses: []string{"pondering"}})
	submit(t, tr)
	if out, err := tr.Status(t.Context(), "ftjob-1"); err != nil || out.State != receipts.JobRunning || !strings.Contains(out.Message, `"pondering"`) ||
		!strings.Contains(out.Message, "Step") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAJobIsCancelled(t *testing.T) {
	tr, _ := start(t, openaitest.Faults{JobStatuses: []string{"running"}})
	submit(t, tr)
	if out, err := tr.Cancel(t.Context(), "ftjob-1"); err != nil || out.State != receipts.JobCancelled {
		t.Errorf("%+v, %v", out, err)
	}
	tr, _ = start(t, openaitest.Faults{JobStatuses: []string{"succeeded"}, CancelTooLate: true})
	submit(t, tr)
	if out, err := tr.Cancel(t.Context(), "ftjob-1"); err != nil || out.State != receipts.JobCompleted {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestKeyIsRedacted(t *testing.T) {
	wrong := "sk-another-secret"
	tr, _ := start(t, openaitest.Faults{EchoesKey: true}, func(c *openai.Config) { c.APIKey = wrong })
	_, err := tr.Begin(t.Context(), nil)
	if err == nil || strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), "[key]") || fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}

func TestPreflightRefuses(t *testing.T) {
	same := backendtest.Group(0)
	for i := range same {
		same[i].Messages[1].Content = "equal"
	}
	for _, c := range []struct {
		reason string
		edit   func(*openai.Config)
		group  []formats.Trajectory
	}{
		{openai.TooFew, func(c *openai.Config) { c.MinRows = 10 }, backendtest.Group(0)},
		{openai.TooLarge, func(c *openai.Config) { c.MaxFileBytes = 10 }, backendtest.Group(0)},
		{openai.NoRow, method(openai.DPO), same},
		{openai.NoHeldOut, func(c *openai.Config) { c.Validation = 1e-9 }, backendtest.Group(0)},
	} {
		tr, _ := start(t, openaitest.Faults{}, c.edit)
		var reasons []string
		_, err := tr.Preflight(t.Context(), func(yield func([]formats.Trajectory, error) bool) { yield(c.group, nil) }, func(p backends.Problem) {
			reasons = append(reasons, p.Reason)
		})
		if err != nil || !strings.Contains(fmt.Sprint(reasons), c.reason) {
			t.Errorf("%s: %v, %v", c.reason, reasons, err)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
	const url = "http://tune.test/v1"
	for what, c := range map[string]openai.Config{
		"no model to train":                     {},
		"no service to train at":                {Model: "m"},
		"unknown method":                        {Model: "m", Method: "reinforcement"},
		"base URL":                              {Model: "m", BaseURL: "api.openai.com"},
		"no hyperparameter":                     {Model: "m", BaseURL: url, Hyperparameters: map[string]any{"beta": 0.1}},
		"n_epochs NaN: must be from 1 to 50":    {Model: "m", BaseURL: url, Hyperparameters: map[string]any{"n_epochs": math.NaN()}},
		"n_epochs 51: must be from 1 to 50":     {Model: "m", BaseURL: url, Hyperparameters: map[string]any{"n_epochs": 51}},
		"0: must be more than 0, and at most 2": {Model: "m", BaseURL: url, Method: openai.DPO, Hyperparameters: map[string]any{"beta": 0}},
		"a number or auto":                      {Model: "m", BaseURL: url, Hyperparameters: map[string]any{"n_epochs": "many"}},
		"at most 64":                            {Model: "m", BaseURL: url, Suffix: strings.Repeat("x", 65)},
		"validation share":                      {Model: "m", BaseURL: url, Validation: 1},
	} {
		if _, err := openai.New(c); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
