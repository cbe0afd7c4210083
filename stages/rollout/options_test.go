package rollout_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestOptionsAreDeclared(t *testing.T) {
	plugintest.Settings(t, func() plugin.Settings { return &rollout.Options{} })
}

// silent is an agent that forgot to describe itself.
type silent struct{ agents.Agent }

func (silent) Describe() (d agents.Description) { return d }

func TestAnAgentThatDescribesNothingIsRefused(t *testing.T) {
	o := options(newEngine(t, &engine{}), filepath.Join(t.TempDir(), "out"), 1)
	o.Agent = silent{o.Agent}
	if _, err := rollout.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "describes nothing") {
		t.Error(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	e := newEngine(t, &engine{})
	for what, change := range map[string]func(*rollout.Options){
		"no output":        func(o *rollout.Options) { o.Out.URI = "" },
		"no name":          func(o *rollout.Options) { o.Run = "" },
		"no examples":      func(o *rollout.Options) { o.Examples = nil },
		"no agent":         func(o *rollout.Options) { o.Agent = nil },
		"no model":         func(o *rollout.Options) { o.Model = "" },
		"no endpoint":      func(o *rollout.Options) { o.Endpoints = nil },
		"not an HTTP URL":  func(o *rollout.Options) { o.Endpoints = []string{"localhost:8000"} },
		`"logprobs"`:       func(o *rollout.Options) { o.Sampling = map[string]any{"logprobs": false} },
		"--shard 2/2":      func(o *rollout.Options) { o.Out.Shard = stages.Shard{Index: 2, Count: 2} },
		"not a regular":    func(o *rollout.Options) { o.DependsOn = []string{"."} },
		"max-failure-rate": func(o *rollout.Options) { rate := 1.5; o.MaxFailureRate = &rate },
	} {
		o := options(e, filepath.Join(t.TempDir(), "out"), 1)
		change(&o)
		if _, err := rollout.Run(context.Background(), o); kind(err) != fault.Usage || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	o := options(e, filepath.Join(t.TempDir(), "out"), 1)
	o.DependsOn = []string{"no-such-file"}
	if _, err := rollout.Run(context.Background(), o); kind(err) != fault.Input || !strings.Contains(err.Error(), `"no-such-file": there is no such file`) {
		t.Error(err)
	}
	if len(e.Asked()) != 0 {
		t.Error("a token was paid for")
	}
}

// TestPolicy gives model, endpoint and version; an answer of another version
// is refused.
func TestPolicy(t *testing.T) {
	e := newEngine(t, &engine{Model: "policy@4"})
	o := options(e, filepath.Join(t.TempDir(), "out"), 1)
	o.Policy = &receipts.Policy{URL: e.URL(), Model: "policy", Version: 4}
	o.Model, o.Endpoints = "", nil
	run(t, o)
	row := rows(t, o.Out.URI)[0]
	if row.Model != "policy@4" || row.PolicyVersion == nil || *row.PolicyVersion != 4 || *row.Calls[0].PolicyVersion != 4 {
		t.Errorf("%+v", row)
	}
	o.Policy.Version, o.Out.URI = 5, filepath.Join(t.TempDir(), "out")
	if _, err := rollout.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "policy version 5") {
		t.Errorf("version 4 answered for 5: %v", err)
	}
}
