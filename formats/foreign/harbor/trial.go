package harbor

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/atif"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// limits are exceptions after which a reward counts: the agent was ended at a limit, and its work was verified.
var limits = map[string]string{"AgentTimeoutError": outcomes.StopTimeout,
	"ContextWindowExceededError": outcomes.StopLength, "ContextLengthExceededError": outcomes.StopLength,
	"OutputTokenExceededError": outcomes.StopLength, "OutputLengthExceededError": outcomes.StopLength}

// classes are the failure classes of exceptions; the others are internal.
var classes = map[string]string{"AgentTimeoutError": outcomes.FailTimeout, "NonZeroAgentExitCodeError": outcomes.FailAgentExit,
	"CancelledError": outcomes.FailCancelled, "SandboxBuildFailedError": outcomes.FailImage,
	"EnvironmentStartTimeoutError": outcomes.FailStart,
	"AgentSetupTimeoutError":       outcomes.FailStart, "HealthcheckError": outcomes.FailStart, "MemoryLimitExceededError": outcomes.FailLimit,
	"SandboxLikelyOutOfMemoryError": outcomes.FailLimit, "VerifierTimeoutError": outcomes.FailVerifier,
	"AddTestsDirError":         outcomes.FailVerifier,
	"DownloadVerifierDirError": outcomes.FailVerifier, "RewardFileNotFoundError": outcomes.FailVerifier,
	"RewardFileEmptyError": outcomes.FailVerifier, "VerifierOutputParseError": outcomes.FailVerifier}

func parse(r *importers.Record) ([]importers.Item, error) {
	o := value.Object(r, r.Data)
	result := must.Object("result", o.Get("result"))
	name := cmp.Or(must.Text("trial_name", result.Get("trial_name")), must.Text("trial_name", o.Get("trial_name")))
	switch {
	case name == "":
		must.Fail("it is neither a result nor a configuration of a Harbor trial: trial_name is missing")
	case result == nil:
		must.Fail("the trial %s has not ended: there is no result.json beside its config.json; import it when it has", name)
	case !result.Has("finished_at"):
		must.Fail("the trial %s has not ended: finished_at is null; import it when it has", name)
	case result.Has("step_results"):
		must.Fail("the trial %s has several steps (step_results), which are not read", name)
	}
	x := conversation(r, o, result)
	t := &x.Row
	t.TrajectoryID, t.ExampleID = must.Text("id", result.Get("id")), must.Text("task_name", result.Get("task_name"))
	t.StartedAt, t.FinishedAt = value.Micros(result.Get("started_at")), value.Micros(result.Get("finished_at"))
	if err := json.Unmarshal(value.OrNull(o.Get("artifacts")), &t.Artifacts); err != nil {
		importers.Refuse(err)
	}
	if info := must.Object("agent_info", result.Get("agent_info")); len(t.Calls) == 0 {
		t.Model = must.Text("agent_info.model_info.name", must.Object("agent_info.model_info", info.Get("model_info")).Get("name"))
	}
	t.Reward, t.Rewards = nil, nil
	atif.Rewards(t, "verifier_result.rewards.", rewardsOf(o, result))
	conclude(t, result)
	meta := jsontext.ParseObject([]byte(t.Metadata))
	agent := must.Object("agent_result", result.Get("agent_result"))
	agent.Drop("rollout_details")
	meta.Set("trial", value.Without(result.With("agent_result", agent.Bytes()), "id", "task_name", "started_at", "finished_at").Bytes())
	t.Metadata = jsontext.Compact(meta.Bytes())
	return []importers.Item{x}, nil
}

// conclude gives a row its status by the trial's exception.
func conclude(t *formats.Trajectory, result jsontext.Object) {
	if t.Status == outcomes.StatusFailed {
		t.Reward, t.Rewards = nil, nil
	}
	e := must.Object("exception_info", result.Get("exception_info"))
	if e == nil {
		return
	}
	kind := must.Text("exception_info.exception_type", e.Get("exception_type"))
	counts, said := value.Truth(result.Get("reward_valid"))
	if stop := limits[kind]; stop != "" && len(t.Rewards) > 0 && (counts || !said) && t.Status == "" {
		t.Status, t.StopReason = outcomes.StatusTruncated, stop
		return
	}
	importers.Fail(t, cmp.Or(classes[kind], outcomes.FailInternal),
		kind+": "+must.Text("exception_info.exception_message", e.Get("exception_message")))
	t.Rewards = nil
	if t.FailureClass == outcomes.FailTimeout {
		t.StopReason = outcomes.StopTimeout
	}
}

// conversation reads the trajectories of a trial.
func conversation(r *importers.Record, o, result jsontext.Object) (x importers.Item) {
	docs, main := map[string]jsontext.Object{}, []string(nil)
	for _, d := range must.Object("trajectories", o.Get("trajectories")) {
		if docs[d.Key] = must.Object("agent/"+d.Key, d.Raw); docs[d.Key] == nil {
			must.Fail("agent/%s holds no trajectory", d.Key)
		}
	}
	for next := trajectory; next != ""; next = must.Text("continued_trajectory_ref", docs[next].Get("continued_trajectory_ref")) {
		switch {
		case docs[next] == nil && len(docs) == 0:
			importers.Fail(&x.Row, outcomes.FailNoCalls, "the agent left no trajectory (agent/trajectory.json)")
			return x
		case docs[next] == nil || slices.Contains(main, next):
			must.Fail("the trajectory goes on in agent/%s, which is not there, or comes before", next)
		}
		main = append(main, next)
	}
	addTokens(r, main, docs, must.Object("agent_result", result.Get("agent_result")).Get("rollout_details"))
	embedded := must.List("subagent_trajectories", docs[trajectory].Get("subagent_trajectories"))
	agents := slices.Collect(jsontext.Elements(embedded)) // documents of sub-agents, which the first part embeds
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		switch d := docs[name]; {
		case slices.Contains(main, name):
		case strings.HasPrefix(name, "trajectory.cont-"):
			must.Fail("no trajectory goes on in agent/%s", name)
		default:
			agents = append(agents, d.Bytes())
		}
	}
	var parts [][]byte
	for _, name := range main {
		d := docs[name]
		if name == trajectory && len(agents) > 0 {
			d.Set("subagent_trajectories", value.Join(agents))
		}
		parts = append(parts, d.Bytes())
	}
	defer must.In("agent/" + trajectory)
	return atif.Trajectory(r, parts[0], parts[1:]...)
}

// rewardsOf returns the rewards by name: the result's, with which the verifier's file must agree, or else the file's.
func rewardsOf(o, result jsontext.Object) jsontext.Object {
	rewards := must.Object("verifier_result.rewards", must.Object("verifier_result", result.Get("verifier_result")).Get("rewards"))
	file, text := must.Object(rewardJSON, o.Get("reward_json")), must.Text(rewardText, o.Get("reward_text"))
	if n, err := strconv.ParseFloat(text, 64); file == nil && err == nil { // else Harbor names it as the trial's exception
		file = jsontext.Object{{Key: "reward", Raw: strconv.AppendFloat(nil, n, 'g', -1, 64)}}
	}
	for _, c := range file {
		if rewards != nil && !jsontext.Same(string(c.Raw), string(rewards.Get(c.Key))) {
			must.Fail("the reward %q is %s in result.json, and %s in the file of the verifier", c.Key,
				cmp.Or(string(rewards.Get(c.Key)), "missing"), c.Raw)
		}
	}
	if rewards == nil {
		return file
	}
	return rewards
}
