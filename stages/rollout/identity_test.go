package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/command"
	"github.com/rollmill/rollmill/storage/storagetest"
)

// TestIdentityStays: what was made before is found again by the examples that
// it was made of, whole and by a plan.
func TestIdentityStays(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	o := options(e, filepath.Join(dir, "rollout"), 0)
	o.Examples = set([]formats.Example{
		{ID: "a", Question: "1 < 2 & \"so\"\n?", Answer: "ja \u2028", Fields: json.RawMessage(`{"id":"a","b":[1,{"c":null}]}`)},
		{ID: "row-1_", Row: 1, Fields: json.RawMessage(`{"question":""}`), GeneratedAnswer: "made before"},
		{ID: "ç", Question: "no fields", Row: 7},
	})
	if got, want := run(t, o).Identity, "141e394928c275bc"; got != want {
		t.Errorf("identity %s, want %s", got, want)
	}
	if got, want := opened(t, o.Out.URI).Params["examples"], "01542022e9be0191efc69d7bed0e2c1a"; got != want {
		t.Errorf("all examples are %s, want %s", got, want)
	}
	o.Plan = planOf(t, o.Out.URI, filepath.Join(dir, "curate"), planRow{example: "ç", n: 2}, planRow{example: "a", n: 1})
	o.Out.URI = filepath.Join(dir, "more")
	run(t, o)
	if got, want := opened(t, o.Out.URI).Params["examples"], "880a1a0810a2e14e5229ed27e2a2859c"; got != want {
		t.Errorf("the planned examples are %s, want %s", got, want)
	}
	if got := names(rows(t, o.Out.URI)); got != "a:3 ç:3 ç:4" {
		t.Errorf("rows %s", got)
	}
}

// answering is a program's agent whose attempts end well: a dataset of which no attempt
// is ok would be replaced.
type answering struct {
	agents.Agent
	by agents.Agent
}

func (a answering) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	return a.by.Attempt(ctx, at)
}

// TestWhatIsAnotherDataset: what changes rows is refused at the same place,
// and what does not is up to date.
func TestWhatIsAnotherDataset(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	program, used := filepath.Join(dir, "agent.sh"), filepath.Join(dir, "prompt.txt")
	write := func(name, text string) {
		t.Helper()
		storagetest.Program(t, name, text)
	}
	write(program, "#!/bin/sh\nexit 1\n")
	write(used, "be brief")
	base := func(out string) rollout.Options {
		o := options(e, out, 1)
		agent, err := (&command.Settings{Command: []string{program, "--fast"}}).Agent(t.Context(), agents.Setup{})
		if err != nil {
			t.Fatal(err)
		}
		rate := 1.0
		o.Agent, o.DependsOn, o.MaxFailureRate, o.MaxInitialFailures = answering{agent, chatAgent("")}, []string{used}, &rate, -1
		return o
	}
	out := filepath.Join(dir, "out")
	run(t, base(out))
	for name, change := range map[string]func(*rollout.Options){
		"nothing":     func(*rollout.Options) {},
		"concurrency": func(o *rollout.Options) { o.Concurrency = 1 },
		"endpoint":    func(o *rollout.Options) { o.Endpoints = []string{"http://127.0.0.1:1/v1"} },
		"retries":     func(o *rollout.Options) { o.Retries, o.Backoff = new(1), 1 },
		"key":         func(o *rollout.Options) { o.APIKey = "secret" },
	} {
		o := base(out)
		change(&o)
		if r := run(t, o); !r.UpToDate {
			t.Errorf("%s: not up to date", name)
		}
	}
	for name, change := range map[string]func(*rollout.Options){
		"run":         func(o *rollout.Options) { o.Run = "other" },
		"epoch":       func(o *rollout.Options) { o.Epoch = new(1) },
		"generations": func(o *rollout.Options) { o.Generations = 4 },
		"model":       func(o *rollout.Options) { o.Model = "other" },
		"policy":      func(o *rollout.Options) { o.Policy = &receipts.Policy{Version: 2} },
		"sampling":    func(o *rollout.Options) { o.Sampling = map[string]any{"temperature": 0} },
		"seed":        func(o *rollout.Options) { o.SamplingSeed = nil },
		"examples": func(o *rollout.Options) {
			other := questions(1)
			other[0].Question = "another"
			o.Examples = set(other)
		},
		"agent":   func(o *rollout.Options) { o.Agent = chatAgent("") },
		"program": func(o *rollout.Options) { write(program, "#!/bin/sh\nexit 2\n"); *o = base(out) },
		"used file": func(o *rollout.Options) {
			write(program, "#!/bin/sh\nexit 1\n")
			write(used, "be verbose")
			*o = base(out)
		},
	} {
		o := base(out)
		change(&o)
		_, err := rollout.Run(context.Background(), o)
		var exists *manifest.ExistsError
		if !errors.As(err, &exists) {
			t.Errorf("another %s: %v", name, err)
		}
		write(program, "#!/bin/sh\nexit 1\n")
		write(used, "be brief")
	}
}
