package verifiers

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

const maxVersion = 1 // of traces

// readTrace converts a trace; e is nil when it is in no episode.
func readTrace(r *importers.Record, o jsontext.Object, e *shared) (x importers.Item) {
	if v := must.Whole("version", o.Get("version")); v != nil && *v > maxVersion {
		must.Fail("version %d of traces is not known; known is %d", *v, maxVersion)
	}
	row := &x.Row
	row.TrajectoryID = must.ID("id", o.Get("id"))
	readTask(row, o.Get("task"))
	agent := must.Object("agent", o.Get("agent"))
	g := graphReader{record: r, agent: agent, target: string(agent.Get("trainable")) != "false"}
	if e != nil {
		x.Epoch, g.version = e.epoch, e.version
		g.Meta.Add("episode", e.meta)
		if name := must.Text("agent.name", agent.Get("name")); len(e.several) > 1 && row.ExampleID != "" {
			row.ExampleID += "/" + name // the agents of an episode do different work
		}
	}
	g.read(o)
	g.Meta.AddRest(o, "id", "task", "tools", "nodes", "calls", "rewards", "ok")
	g.Into(row)
	row.Advantages, row.Losses = g.advantages, g.losses
	times(row, must.Object("timing", o.Get("timing")))
	status(row, o)
	readRewards(row, must.Object("rewards", o.Get("rewards")))
	return x
}

// times sets when the rollout began, and when its last phase ended.
func times(row *formats.Trajectory, timing jsontext.Object) {
	row.StartedAt = value.Micros(timing.Get("start"))
	for _, f := range timing {
		if end := value.Micros(jsontext.ParseObject(f.Raw).Get("end")); end > row.FinishedAt {
			row.FinishedAt = end
		}
	}
}

// truncations are the limits that end a rollout, by the stop condition.
var truncations = map[string]string{
	"max_turns": outcomes.StopTurns, "max_turns_reached": outcomes.StopTurns,
	"max_input_tokens": outcomes.StopMaxTokens, "max_output_tokens": outcomes.StopMaxTokens,
	"max_total_tokens":                    outcomes.StopMaxTokens,
	"max_total_completion_tokens_reached": outcomes.StopMaxTokens,
	"context_length":                      outcomes.StopLength, "prompt_too_long": outcomes.StopLength,
	"timeout_reached": outcomes.StopTimeout,
}

// status sets the status of a rollout by ok, its errors and what stopped it.
func status(row *formats.Trajectory, o jsontext.Object) {
	ok := len(o.Get("errors")) <= len("[]")
	if o.Has("ok") {
		ok = jsontext.IsTrue(o.Get("ok"))
	}
	stop, cut := truncation(o)
	if !cut && jsontext.IsTrue(o.Get("is_timeout")) {
		stop, cut = outcomes.StopTimeout, true
	}
	switch {
	case !ok:
		otherwise := outcomes.FailUnfinished
		if len(row.Calls) == 0 {
			otherwise = outcomes.FailNoCalls
		}
		row.Status = outcomes.StatusFailed
		row.FailureClass, row.Error = readFailure(o, otherwise)
		if row.FailureClass == outcomes.FailTimeout {
			row.StopReason = outcomes.StopTimeout
		}
	case cut:
		row.Status, row.StopReason = outcomes.StatusTruncated, stop
	case len(row.Calls) == 0:
		importers.Fail(row, outcomes.FailNoCalls, "the model was not called")
	}
}

// readRewards reads the components {name: {score, weight}}. The total is missing
// when a component is, or when the rollout failed.
func readRewards(row *formats.Trajectory, list jsontext.Object) {
	total, all := 0.0, len(list) > 0
	for _, c := range list {
		n := formats.NamedReward{Name: c.Key, Weight: 1}
		if len(c.Raw) > 0 && c.Raw[0] == '{' {
			o := jsontext.ParseObject(c.Raw)
			n.Value = must.Number("rewards."+c.Key+".score", o.Get("score"))
			if w := must.Number("rewards."+c.Key+".weight", o.Get("weight")); w != nil {
				n.Weight = *w
			}
		} else {
			n.Value = must.Number("rewards."+c.Key, c.Raw)
		}
		if n.Value == nil {
			all, n.Failure = false, outcomes.RewardMissing
		} else {
			total += float64(*n.Value * n.Weight) // rounded, so that no machine fuses it with the sum
		}
		row.Rewards = append(row.Rewards, n)
	}
	if all && row.Status != outcomes.StatusFailed {
		row.Reward = &total
	}
}
