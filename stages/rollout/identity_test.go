package rollout_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents/command"
)

// TestWhatIsAnotherDataset: what changes rows is refused at the same place,
// and what does not is up to date.
func TestWhatIsAnotherDataset(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	program, used := filepath.Join(dir, "agent.sh"), filepath.Join(dir, "prompt.txt")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(program, "#!/bin/sh\nexit 1\n")
	write(used, "be brief")
	base := func(out string) rollout.Options {
		o := options(e, out, 1)
		agent, err := command.New(rollout.AgentConfig{Words: []string{program, "--fast"}})
		if err != nil {
			t.Fatal(err)
		}
		rate := 1.0
		o.Agent, o.Uses, o.MaxFailureRate, o.Giveup = agent, []string{used}, &rate, -1
		return o
	}
	out := filepath.Join(dir, "out")
	run(t, base(out))
	for name, change := range map[string]func(*rollout.Options){
		"nothing":     func(*rollout.Options) {},
		"concurrency": func(o *rollout.Options) { o.Concurrency = 1 },
		"endpoint":    func(o *rollout.Options) { o.Endpoints = []string{"http://127.0.0.1:1/v1"} },
		"retries":     func(o *rollout.Options) { o.Retries, o.Backoff = 1, 1 },
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
		"epoch":       func(o *rollout.Options) { o.Epoch = 1 },
		"generations": func(o *rollout.Options) { o.Generations = 4 },
		"model":       func(o *rollout.Options) { o.Model = "other" },
		"policy":      func(o *rollout.Options) { o.Policy = &formats.Policy{Version: 2} },
		"sampling":    func(o *rollout.Options) { o.Sampling = map[string]any{"temperature": 0} },
		"seed":        func(o *rollout.Options) { o.SamplingSeed = nil },
		"examples":    func(o *rollout.Options) { o.Examples[0].Question = "another" },
		"agent":       func(o *rollout.Options) { o.Agent = chatAgent("") },
		"program":     func(o *rollout.Options) { write(program, "#!/bin/sh\nexit 2\n"); *o = base(out) },
		"used file": func(o *rollout.Options) {
			write(program, "#!/bin/sh\nexit 1\n")
			write(used, "be verbose")
			*o = base(out)
		},
	} {
		o := base(out)
		change(&o)
		_, err := rollout.Run(context.Background(), o)
		var exists *dataset.ExistsError
		if !errors.As(err, &exists) {
			t.Errorf("another %s: %v", name, err)
		}
		write(program, "#!/bin/sh\nexit 1\n")
		write(used, "be brief")
	}
}
