package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

const stage = "rollout"

// reserved are request fields that sampling defaults may not set: those of the
// recorder, and those that would change what is requested.
var reserved = []string{"model", "messages", "tools", "tool_choice", "stream", "stream_options", "logprobs", "seed", "n"}

// Validate checks everything that can be checked before a byte is read or a
// token paid for. Its errors are of kind usage.
func (o Options) Validate() error {
	o = o.defaults()
	switch {
	case o.Out.URI == "":
		return agents.Usage("", "no output")
	case o.Run == "":
		return agents.Usage("it is part of every trajectory's id", "the run has no name")
	case o.Examples == nil:
		return agents.Usage("name the task file with --examples", "no examples")
	case o.Agent == nil:
		return agents.Usage("", "no agent")
	case o.agent.Kind == "":
		return fmt.Errorf("rollout: agent %T describes nothing", o.Agent)
	case o.Model == "" && o.asksEngine():
		return agents.Usage("name it with --model, or take it from a receipt with --policy; for train, set rollout.url and rollout.model, and submit.name to "+
			"the same model if the trainer names no policy", "no model")
	case o.Policy != nil && o.Policy.Model != "" && o.asksEngine() && !o.Policy.Names(cmp.Or(o.TargetModel, o.Model)):
		return agents.Usage("leave out --model and --target-model, or --policy: rows of another model cannot train this policy",
			"%q is sampled, but the policy is %q", cmp.Or(o.TargetModel, o.Model), o.Policy.Model)
	case o.KeepWorkspace && !o.agent.Workspaces:
		return agents.Usage("only agent harbor works in a container of ours",
			"--keep-workspace: agent %s has no workspace", o.agent.Kind)
	case o.Extend.URI != "" && o.Plan == nil:
		return agents.Usage("--plan names the curated dataset that says which examples deserve more", "--extend %q without --plan",
			o.Extend.URI)
	case o.Extend.URI != "" && o.AtEpoch() != o.Plan.Epoch:
		return agents.Usage("leave --epoch out", "--epoch %d: the plan is of epoch %d, and so is what is extended", o.AtEpoch(),
			o.Plan.Epoch)
	case *o.MaxFailureRate < 0 || *o.MaxFailureRate > 1 || *o.MaxFailureRate != *o.MaxFailureRate:
		return agents.Usage("0.1 lets one trajectory in ten fail", "--max-failure-rate %v is not between 0 and 1", *o.MaxFailureRate)
	}
	if s := o.Out.Shard.Of(); s.Index < 0 || s.Index >= s.Count {
		return agents.Usage("shards are counted from 0: the last of 4 is 3/4", "--shard %d/%d is out of range", s.Index, s.Count)
	}
	for _, request := range o.AllowPaths {
		if err := recorder.CheckPath(request); err != nil {
			return agents.Usage("write a method and a path, such as --allow-path 'GET /v1/files/*'", "--allow-path: %v", err)
		}
	}
	for _, check := range []func() error{o.Budget.Check, o.checkLimits, o.checkEndpoints, o.checkFields} {
		if err := check(); err != nil {
			return err
		}
	}
	return dependsOn(stages.CheckFiles(o.DependsOn))
}

func (o Options) checkEndpoints() error {
	if !o.asksEngine() {
		return nil
	}
	if o.Advertise != "" {
		if _, err := remote.HTTPURL(o.Advertise); err != nil {
			return agents.Usage("write http://HOST:PORT, as agents are to reach the recording proxy", "--advertise %w", err)
		}
	}
	if len(o.Endpoints) == 0 {
		return agents.Usage("name one with --url http://HOST:PORT/v1, or take it from a receipt with --policy", "no endpoint")
	}
	for _, e := range o.Endpoints {
		if strings.Contains(e, secret.Mark("")[:len(secret.Mark(""))-1]) {
			return agents.Usage("give the engine's URL with --url; the key in its path was not kept",
				"endpoint %q, of the receipt, has a redacted part", e)
		}
		if _, err := remote.HTTPURL(e); err != nil {
			return agents.Usage("an endpoint is a base URL such as http://127.0.0.1:8000/v1", "endpoint %w", err)
		}
	}
	return nil
}

func (o Options) checkFields() error {
	for name := range o.Sampling {
		if slices.Contains(reserved, name) {
			return agents.Usage("sampling holds temperature, top_p, max_tokens, stop and their like",
				"sampling field %q cannot be set here", name)
		}
	}
	for what, fields := range map[string]map[string]any{"sampling": o.Sampling, "extra": o.Extra} {
		if _, err := json.Marshal(fields); err != nil {
			return agents.Usage("", "%s fields: %w", what, err)
		}
	}
	return nil
}

// defaults returns the options with zero values replaced by their defaults.
func (o Options) defaults() Options {
	if o.Agent != nil {
		o.agent = o.Agent.Describe()
	}
	if o.Policy != nil {
		o.Model = cmp.Or(o.Model, o.Policy.Model)
		if len(o.Endpoints) == 0 && o.Policy.URL != "" {
			o.Endpoints = []string{o.Policy.URL}
		}
	}
	o.Budget = o.Budget.Of(o.Model)
	if o.Extra == nil {
		o.Extra = apis.DefaultExtra
	}
	if o.MaxFailureRate == nil {
		o.MaxFailureRate = new(0.5)
	}
	o.ExamplesRef.Role = cmp.Or(o.ExamplesRef.Role, "examples")
	o.Alternatives = cmp.Or(o.Alternatives, KeepAlternatives)
	o.Auxiliary = cmp.Or(o.Auxiliary, tree.AuxiliarySkip)
	o.Generations = cmp.Or(o.Generations, 1)
	o.Concurrency = cmp.Or(o.Concurrency, DefaultConcurrency)
	o.TrajectoryTimeout = cmp.Or(o.TrajectoryTimeout, 30*time.Minute)
	o.JournalEvery = cmp.Or(o.JournalEvery, 2*time.Second)
	o.Lease = cmp.Or(o.Lease, 30*time.Second)
	o.MaxEngineFailures = cmp.Or(o.MaxEngineFailures, max(8, 2*o.Concurrency))
	o.MaxInitialFailures = cmp.Or(o.MaxInitialFailures, max(8, 2*o.Concurrency))
	return o
}
