// Package atif reads and writes documents of the Agent Trajectory Interchange
// Format (ATIF) of Harbor. Exporter and Importer say how.
package atif

import (
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Importer reads trajectories in Harbor's Agent Trajectory Interchange
// Format (ATIF), every version 1.x up to 1.8, as Harbor, NAT and others write
// them.
//
// A step is a message; an agent's step is sampled, unless it was copied from
// another trajectory or no model was called. The results of its observation
// follow it: those of tool calls as tool messages, others as messages of the user,
// because agents without tool calls show them to the model like that. Embedded
// subagents are roots of their own. The observation of a step that replaces the
// context begins another root.
//
// ATIF has no place for a reward. extra.reward, extra.rewards,
// extra.verifier_result (the member of a Harbor trial's result.json) and
// final_metrics.extra.reward are read, and so is what Rollmill's own export writes
// into extra.
var Importer = importers.Format{
	Name:       "atif",
	Help:       "trajectories in the Agent Trajectory Interchange Format of Harbor and NAT, versions 1.0 to 1.8",
	Spec:       "harbor-framework/harbor: docs/rfcs/0001-trajectory-format.md",
	Extensions: []string{".json", ".jsonl"},
	Records: importers.ByExtension(importers.Document, map[string]importers.Cut{
		".jsonl": importers.Rows, ".ndjson": importers.Rows, ".parquet": importers.Rows,
	}),
}.ParsedBy(parse)

// parse converts a document, or an array of documents.
func parse(r *importers.Record) ([]importers.Item, error) {
	data := value.JSON(r, r.Data)
	if data[0] != '[' {
		return []importers.Item{Trajectory(r, data)}, nil
	}
	var out []importers.Item
	must.Each("documents", data, func(doc []byte) { out = append(out, Trajectory(r, doc)) })
	return out, nil
}

// Trajectory converts one document, which is valid JSON, and those that continue it: each begins another root. What it
// loses is recorded in r.
func Trajectory(r *importers.Record, doc []byte, continuations ...[]byte) (x importers.Item) {
	o := jsontext.ParseObject(doc)
	minor := versionOf(o)
	x.Row.TrajectoryID = must.Text("trajectory_id", o.Get("trajectory_id"))
	if session := must.Text("session_id", o.Get("session_id")); x.Row.TrajectoryID == "" && minor < 7 {
		x.Row.TrajectoryID = session // since 1.7, several documents may share it
	}
	b := &builder{record: r, own: jsontext.Unquote(jsontext.ParseObject(o.Get("agent")).Get("name")) == "rollmill"}
	b.trajectory(o, "")
	for _, doc := range continuations {
		b.continuation(jsontext.ParseObject(doc))
	}
	for key, v := range jsontext.Members(doc) {
		switch string(key) {
		case "steps", "subagent_trajectories", "trajectory_id":
		case "agent":
			b.Meta.Add("agent", withoutTools(v))
		case "extra":
			if b.own {
				v = withoutOwn(v)
			}
			b.Meta.Add("extra", v)
		default:
			b.Meta.Add(string(key), v)
		}
	}
	extra := jsontext.ParseObject(o.Get("extra"))
	list := jsontext.ParseObject(extra.Get("rewards"))
	if list == nil {
		list = jsontext.ParseObject(jsontext.ParseObject(extra.Get("verifier_result")).Get("rewards"))
	}
	if x.Row.Reward = must.Number("extra.reward", extra.Get("reward")); x.Row.Reward == nil {
		final := jsontext.ParseObject(jsontext.ParseObject(o.Get("final_metrics")).Get("extra"))
		x.Row.Reward = must.Number("final_metrics.extra.reward", final.Get("reward"))
	}
	Rewards(&x.Row, "extra.rewards.", list)
	if b.own {
		readOwn(r, &x, extra)
	}
	b.Into(&x.Row)
	if len(x.Row.Calls) == 0 {
		importers.Fail(&x.Row, outcomes.FailNoCalls, "no step of the agent called a model")
	}
	return x
}

func versionOf(o jsontext.Object) (minor int) {
	v := o.Get("schema_version")
	text := jsontext.Unquote(v)
	switch {
	case len(v) == 0 && o.Has("trial_name"):
		must.Fail("schema_version is missing: this is the result of a Harbor trial, " +
			"which format harbor reads with the trajectory beside it")
	case len(v) == 0:
		must.Fail("schema_version is missing: it is not an ATIF document")
	case !strings.HasPrefix(text, "ATIF-v1."):
		must.Fail("schema_version is %s; versions ATIF-v1.0 to ATIF-v1.8 are known", v[:min(len(v), 40)])
	}
	if _, err := fmt.Sscanf(text, "ATIF-v1.%d", &minor); err != nil || minor < 0 {
		must.Fail("schema_version is %q, which is no version", text)
	}
	return minor
}

// withoutTools returns an agent without its tools, which have columns.
func withoutTools(agent []byte) []byte {
	o := jsontext.ParseObject(agent)
	if !o.Drop("tool_definitions") {
		return agent
	}
	return o.Bytes()
}

// ownKeys are the members of extra that Rollmill's export writes, since ATIF has no field for them, and that columns have.
var ownKeys = []string{"example_id", "example", "epoch", "generation", "status", "stop_reason", "failure_class",
	"error", "rewards", "reward", "answer", "policy_version"}

// readOwn sets the columns of an item from the extra of its document: the task, the attempt, its status and the named rewards.
func readOwn(r *importers.Record, x *importers.Item, extra jsontext.Object) {
	t := &x.Row
	if extra.Has("example") {
		t.Example = text(r, "extra.example", must.Text("extra.example", extra.Get("example")))
	}
	defer must.In("extra")
	for name, to := range map[string]*string{"example_id": &t.ExampleID, "status": &t.Status, "stop_reason": &t.StopReason,
		"failure_class": &t.FailureClass, "error": &t.Error} {
		*to = must.Text(name, extra.Get(name))
	}
	x.Epoch, x.Attempt = must.Int32("epoch", extra.Get("epoch")), must.Whole("generation", extra.Get("generation"))
	must.Each("rewards", must.List("rewards", extra.Get("rewards")), func(raw []byte) {
		c := must.Object("it", raw)
		n := formats.NamedReward{Name: must.Text("name", c.Get("name")), Value: must.Number("value", c.Get("value")),
			Failure: must.Text("failure", c.Get("failure"))}
		if weight := must.Number("weight", c.Get("weight")); weight != nil {
			n.Weight = *weight
		}
		t.Rewards = append(t.Rewards, n)
	})
}

// text returns a text that is the JSON of an object.
func text(r *importers.Record, field, v string) string {
	defer must.In(field)
	return string(value.ObjectText(r, []byte(v)))
}

// withoutOwn returns an extra without what has columns.
func withoutOwn(extra []byte) []byte {
	o := jsontext.ParseObject(extra)
	o.Drop(ownKeys...)
	return o.Bytes()
}

// ownCall adds what Rollmill's export keeps of a call in the extra of its step.
func ownCall(r *importers.Record, o jsontext.Object, m *formats.Message, call *formats.Call) {
	extra := must.Object("extra", o.Get("extra"))
	m.FinishReason = must.Text("extra.finish_reason", extra.Get("finish_reason"))
	c := must.Object("extra.call", extra.Get("call"))
	call.PolicyVersion = must.Whole("extra.call.policy_version", c.Get("policy_version"))
	if sampling := must.Text("extra.call.sampling", c.Get("sampling")); sampling != "" {
		call.Sampling = text(r, "extra.call.sampling", sampling)
	}
}

// Rewards adds a number for each component of a reward; field comes before their names in errors. Without a total, the
// one named reward or a single component is the total; several have none, since ATIF does not say how they add up.
func Rewards(row *formats.Trajectory, field string, list jsontext.Object) {
	for _, c := range list {
		row.Rewards = append(row.Rewards, formats.NamedReward{Name: c.Key, Value: must.Number(field+c.Key, c.Raw)})
		if c.Key == "reward" && row.Reward == nil {
			row.Reward = row.Rewards[len(row.Rewards)-1].Value
		}
	}
	if len(row.Rewards) == 1 && row.Reward == nil {
		row.Reward = row.Rewards[0].Value
	}
	for i := range row.Rewards {
		c := &row.Rewards[i]
		if c.Name == "reward" || len(row.Rewards) == 1 {
			c.Weight = 1
		}
		if c.Value == nil {
			c.Failure = outcomes.RewardMissing
		}
	}
}
