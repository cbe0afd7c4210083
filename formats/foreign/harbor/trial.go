package harbor

import (
	"cmp"
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
	"CancelledError": outcomes.FailCancelled, "SandboxBuildFailedError": outcomes.FailImage, "EnvironmentStartTimeoutError": outcomes.FailStart,
	"AgentSetupTimeoutError": outcomes.FailStart, "HealthcheckError": outcomes.FailStart, "MemoryLimitExceededError": outcomes.FailLimit,
	"SandboxLikelyOutOfMemoryError": outcomes.FailLimit, "VerifierTimeoutError": outcomes.FailVerifier, "AddTestsDirError": outcomes.FailVerifier,
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
	t.Artifacts = artifactsOf(o)
	if info := must.Object("agent_info", result.Get("agent_info")); len(t.Calls) == 0 {
		t.Model = must.Text("agent_info.model_info.name", must.Object("agent_info.model_info", info.Get("model_info")).Get("name"))
	}
	t.Reward, t.Rewards = nil, nil
	atif.Rewards(t, "verifier_result.rewards.", rewardsOf(o, result))
	conclude(t, result)
	meta := jsontext.ParseObject([]byte(t.Metadata))
	meta.Set("trial", value.Without(withoutTokens(result), "id", "task_name", "started_at", "finished_at").Bytes())
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
	importers.Fail(t, cmp.Or(classes[kind], outcomes.FailInternal), kind+": "+must.Text("exception_info.exception_message", e.Get("exception_message")))
	t.Rewards = nil
	if t.FailureClass == outcomes.FailTimeout {
		t.StopReason = outcomes.StopTimeout
	}
}

// conversation reads the trajectories of a trial.
func conversation(r *importers.Record, o, result jsontext.Object) (x importers.Item) {
	docs, chain := map[string]jsontext.Object{}, []string(nil)
	must.Each("trajectories", must.List("trajectories", o.Get("trajectories")), func(v []byte) {
		d := must.Object("trajectory", v)
		name := must.Text("name", d.Get("name"))
		if docs[name] = must.Object(name, d.Get("document")); docs[name] == nil {
			must.Fail("agent/%s holds no trajectory", name)
		}
	})
	for next := "trajectory.json"; next != ""; {
		if docs[next] == nil {
			if len(chain) == 0 {
				break
			}
			must.Fail("agent/%s is continued in %s, which is not there", chain[len(chain)-1], next)
		}
		if slices.Contains(chain, next) {
			must.Fail("agent/%s is continued in itself", next)
		}
		chain = append(chain, next)
		next = strings.TrimPrefix(must.Text("continued_trajectory_ref", docs[next].Get("continued_trajectory_ref")), "./")
	}
	if len(chain) == 0 {
		if len(docs) > 0 {
			must.Fail("the trial has other trajectories, but no agent/trajectory.json")
		}
		importers.Fail(&x.Row, outcomes.FailNoCalls, "the agent left no trajectory (agent/trajectory.json)")
		return x
	}
	addSubagents(r, docs, chain)
	var main []jsontext.Object
	for _, name := range chain {
		main = append(main, docs[name])
	}
	addTokens(r, main, docs, result)
	var texts [][]byte
	for _, d := range main {
		texts = append(texts, d.Bytes())
	}
	defer must.In("agent/trajectory.json")
	return atif.Trajectory(r, texts[0], texts[1:]...)
}

// addSubagents embeds the trajectories of other agents in the first document.
func addSubagents(r *importers.Record, docs map[string]jsontext.Object, chain []string) {
	first := docs[chain[0]]
	var all [][]byte
	for v := range jsontext.Elements(must.List("subagent_trajectories", first.Get("subagent_trajectories"))) {
		all = append(all, v)
	}
	for _, name := range sorted(docs) {
		switch {
		case slices.Contains(chain, name):
		case strings.HasPrefix(name, "trajectory.cont-"):
			r.Lose("agent/trajectory.cont-N.json", "no trajectory is continued in it")
		default:
			d := docs[name]
			if !d.Has("trajectory_id") {
				d.Set("trajectory_id", importers.Quote(name))
			}
			all = append(all, d.Bytes())
		}
	}
	if len(all) > 0 {
		first.Set("subagent_trajectories", value.Join(all))
		docs[chain[0]] = first
	}
}

func sorted(docs map[string]jsontext.Object) (out []string) {
	for name := range docs {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// rewardsOf returns the rewards by name: the result's, with which the verifier's files must agree, or else the files'.
func rewardsOf(o, result jsontext.Object) jsontext.Object {
	rewards := must.Object("verifier_result.rewards", must.Object("verifier_result", result.Get("verifier_result")).Get("rewards"))
	for _, c := range rewards {
		must.Number("verifier_result.rewards."+c.Key, c.Raw)
	}
	file, from := must.Object(rewardJSON, o.Get("reward_json")), rewardJSON
	if text := must.Text(rewardText, o.Get("reward_text")); file == nil && text != "" {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return rewards // Harbor names it as the trial's exception
		}
		file, from = jsontext.Object{{Key: "reward", Raw: []byte(text)}}, rewardText
	}
	if rewards == nil {
		return file
	}
	for _, c := range file {
		ours, theirs := must.Number("verifier_result.rewards."+c.Key, rewards.Get(c.Key)), must.Number(from+": "+c.Key, c.Raw)
		if (ours == nil) != (theirs == nil) || ours != nil && *ours != *theirs {
			must.Fail("the reward %q is %s in result.json, and %s in %s", c.Key, cmp.Or(string(rewards.Get(c.Key)), "missing"), c.Raw, from)
		}
	}
	return rewards
}

// artifactsOf returns the files of the trial by their paths in the environment, as the manifest says.
func artifactsOf(o jsontext.Object) (out []formats.Artifact) {
	for v := range jsontext.Elements(must.List("artifacts", o.Get("artifacts"))) {
		a := jsontext.ParseObject(v)
		name := must.Text("name", a.Get("name"))
		for entry := range jsontext.Elements(must.List("manifest", o.Get("manifest"))) {
			e := must.Object("artifacts/manifest.json", entry)
			to, from := must.Text("destination", e.Get("destination")), must.Text("source", e.Get("source"))
			if below, in := strings.CutPrefix(name, to); in && to != "" && from != "" && (below == "" || below[0] == '/') {
				name = from + below
				break
			}
		}
		size := cmp.Or(must.Whole("bytes", a.Get("bytes")), new(int64))
		out = append(out, formats.Artifact{Name: name, Bytes: *size, Content: must.Text("content", a.Get("content"))})
	}
	return out
}
