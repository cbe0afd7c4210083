package customizer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/storage/fault"
)

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

func TestTheNewerPlatformIsNamed(t *testing.T) {
	tr, _ := start(t, customizertest.Faults{Newer: true})
	_, err := tr.Preflight(t.Context(), backendtest.Batch(), func(backends.Problem) {})
	if fault.HintOf(err) == "" || !strings.Contains(fault.HintOf(err), "NeMo Platform") {
		t.Error(err)
	}
}

func TestKeyIsRedacted(t *testing.T) {
	wrong := "nvapi-another-secret"
	tr, _ := start(t, customizertest.Faults{EchoesKey: true}, func(c *customizer.Config) { c.APIKey = wrong })
	_, err := tr.Begin(t.Context(), nil)
	if err == nil || strings.Contains(err.Error(), wrong) || fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
	// Without a key no header is sent at all: an empty one is illegal.
	tr, s := start(t, customizertest.Faults{Open: true}, func(c *customizer.Config) { c.APIKey, c.DatastoreToken = "", "" })
	if _, err := submit(t, tr); err != nil || len(s.Jobs()) != 1 {
		t.Error(err)
	}
}

func TestPreflightRefuses(t *testing.T) {
	same, tools, last := backendtest.Group(0), backendtest.Group(0), backendtest.Group(0)
	for i := range same {
		same[i].Messages[1].Content = "equal"
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
		"equal answers":   {customizer.NoRow, lora, [][]formats.Trajectory{same, backendtest.Group(1)}},
		"tools in a pair": {customizer.NoRow, lora, [][]formats.Trajectory{tools, backendtest.Group(1)}},
		"no question":     {customizer.NoRow, lora, [][]formats.Trajectory{last, backendtest.Group(1)}},
		"one example":     {customizer.NoHeldOut, lora, [][]formats.Trajectory{backendtest.Group(0), backendtest.Group(0)}},
		"fewer than a batch": {customizer.TooFew, func(c *customizer.Config) { c.Hyperparameters = map[string]any{"batch_size": 4} },
			[][]formats.Trajectory{backendtest.Group(0), backendtest.Group(1)}},
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
		}, func(p backends.Problem) { reasons = append(reasons, p.Reason) })
		if err != nil || !slices.Contains(reasons, c.reason) || len(s.Jobs()) != 0 {
			t.Errorf("%s: %q, %v", name, reasons, err)
		}
	}
}

func TestAPromptOnBothSidesIsNoted(t *testing.T) {
	tr, _ := start(t, customizertest.Faults{})
	stats, err := tr.Preflight(t.Context(), func(yield func([]formats.Trajectory, error) bool) {
		for e := range 4 {
			g := backendtest.Group(e)
			for i := range g {
				g[i].Messages[0].Content = "your move"
			}
			if !yield(g, nil) {
				return
			}
		}
	}, func(p backends.Problem) { t.Errorf("%+v", p) })
	if err != nil || !strings.Contains(fmt.Sprint(stats.Notes), "1 prompts of examples held out are trained on too") {
		t.Errorf("%q, %v", stats.Notes, err)
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
		if _, err := tr.Preflight(t.Context(), backendtest.Batch(),
			func(backends.Problem) {}); err == nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
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
