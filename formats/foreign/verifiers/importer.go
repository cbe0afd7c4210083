// Package verifiers reads and writes the rollouts of PrimeIntellect's verifiers.
// Exporter and Importer say how.
package verifiers

import (
	"cmp"
	"errors"
	"regexp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Importer reads rollouts of the verifiers library: traces.jsonl of version 1, an
// episode a line, and the earlier results.jsonl.
//
// The nodes of a trace are our tree of messages, with exact tokens. The tokens of a
// node that the model did not sample are part of the prompt_delta_ids of the next
// answer.
var Importer = importers.Format{
	Name:       "verifiers",
	Help:       "traces.jsonl and results.jsonl of verifiers and prime-rl",
	Spec:       "PrimeIntellect-ai/verifiers: verifiers/v1/episode.py, trace.py, graph.py; verifiers/legacy/types.py",
	Unscored:   regexp.MustCompile(`^reward$`),
	Extensions: []string{".jsonl"},
	Records:    importers.Rows,
}.ParsedBy(parse)

func parse(r *importers.Record) ([]importers.Item, error) {
	o := value.Object(r, r.Data)
	switch {
	case o.Has("traces"):
		return readEpisode(r, o), nil
	case o.Has("nodes"): // a trace without its episode
		return []importers.Item{readTrace(r, o, nil)}, nil
	case o.Has("completion") || o.Has("trajectory") || o.Has("example_id"):
		return []importers.Item{result(o)}, nil
	}
	return nil, errors.New("it has neither traces (of an episode), nor nodes (of a trace), nor a completion (of a result)")
}

// readEpisode converts the traces of a line. Without one, the episode failed before an agent began.
func readEpisode(r *importers.Record, o jsontext.Object) (out []importers.Item) {
	list := must.List("traces", o.Get("traces"))
	e := &shared{several: map[string]bool{}}
	e.read(o)
	traces := 0
	for raw := range jsontext.Elements(list) {
		t := must.Object("traces", raw)
		traces++
		e.several[jsontext.Unquote(jsontext.ParseObject(t.Get("agent")).Get("name"))] = true
	}
	if traces == 0 {
		return []importers.Item{e.failed(o)}
	}
	must.Each("traces", list, func(raw []byte) { out = append(out, readTrace(r, jsontext.ParseObject(raw), e)) })
	return out
}

// shared is what the traces of an episode share.
type shared struct {
	meta    []byte // id, env, group, run
	epoch   *int32 // the training step
	version *int64 // of the policy, when one answered everything
	several map[string]bool
}

func (e *shared) read(o jsontext.Object) {
	e.meta = jsontext.Object(slices.Collect(value.Rest(o, "traces", "task", "ok"))).Bytes()
	work := must.Object("run.work", must.Object("run", o.Get("run")).Get("work"))
	if step := must.Whole("run.work.step", work.Get("step")); step != nil && *step >= 0 && *step < 1<<31 {
		epoch := int32(*step)
		e.epoch = &epoch
	}
	policy := must.Object("run.work.policy", work.Get("policy"))
	start, end := must.Whole("policy.start", policy.Get("start")), must.Whole("policy.end", policy.Get("end"))
	if start != nil && end != nil && *start == *end {
		e.version = start
	}
}

func (e *shared) failed(o jsontext.Object) (x importers.Item) {
	x.Epoch = e.epoch
	x.Row.TrajectoryID = must.Text("id", o.Get("id"))
	readTask(&x.Row, o.Get("task"))
	x.Row.Status = outcomes.StatusFailed
	x.Row.FailureClass, x.Row.Error = readFailure(o, outcomes.FailNoCalls)
	var meta importers.Metadata
	meta.Add("episode", e.meta)
	x.Row.Metadata = meta.String()
	return x
}

// readTask reads a task: its data is the example. Its key is the example's id; a key
// that is only the hash of the data gives way to an id that the data has.
func readTask(row *formats.Trajectory, v []byte) {
	o := must.Object("task", v)
	data := must.Object("task.data", o.Get("data"))
	if data != nil {
		row.Example = jsontext.Compact(exampleOf(data, o))
	}
	hash := must.ID("task.hash", o.Get("hash"))
	row.ExampleID = must.ID("task.key", o.Get("key"))
	if id := must.ID("task.data.id", data.Get("id")); id != "" && (row.ExampleID == "" || row.ExampleID == hash) {
		row.ExampleID = id
	}
	row.ExampleID = cmp.Or(row.ExampleID, hash)
}

// exampleOf returns the data of a task; of one that Rollmill's export wrote,
// which has an id and the example, the example.
func exampleOf(data, task jsontext.Object) []byte {
	inner := data.Get("example")
	if len(data) == 2 && len(inner) > 0 && inner[0] == '{' && data.Has("id") &&
		string(data.Get("id")) == string(task.Get("key")) {
		return inner
	}
	return task.Get("data")
}

// failures are the classes by the boundary that an error crossed.
var failures = map[string]string{
	"ProviderError": outcomes.FailEngine, "ModelError": outcomes.FailEngine,
	"OverlongPromptError": outcomes.FailEngineRefused,
	"HarnessError":        outcomes.FailAgentExit, "TimeoutError": outcomes.FailTimeout,
	"CancelledError": outcomes.FailCancelled,
}

// readFailure returns the class and the text of the last error; otherwise is the
// class when there is none.
func readFailure(o jsontext.Object, otherwise string) (class, text string) {
	var last jsontext.Object
	for e := range jsontext.Elements(must.List("errors", o.Get("errors"))) {
		last = must.Object("errors", e)
	}
	kind := must.Text("errors.type", last.Get("type"))
	text = must.Text("errors.message", last.Get("message"))
	status := must.Whole("errors.status_code", last.Get("status_code"))
	switch class = failures[kind]; {
	case last == nil && jsontext.IsTrue(o.Get("is_timeout")):
		return outcomes.FailTimeout, ""
	case last == nil:
		return otherwise, ""
	case class == outcomes.FailEngine && status != nil && *status >= 400 && *status < 500 && *status != 429 &&
		*status != 408:
		class = outcomes.FailEngineRefused
	case class == "":
		class = outcomes.FailInternal
	}
	return class, kind + ": " + text
}

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
	all := len(list) > 0
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
		}
		row.Rewards = append(row.Rewards, n)
	}
	if all && row.Status != outcomes.StatusFailed {
		total, _, _ := formats.WeightedSum(row.Rewards)
		row.Reward = &total
	}
}
