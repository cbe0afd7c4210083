package atif

import (
	"fmt"
	"strings"

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
	Parse: parse,
}

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

// Trajectory converts one document, which is valid JSON. What it loses is
// recorded in r.
func Trajectory(r *importers.Record, doc []byte) (x importers.Item) {
	o := jsontext.ParseObject(doc)
	minor := versionOf(o)
	x.Row.TrajectoryID = must.Text("trajectory_id", o.Get("trajectory_id"))
	if session := must.Text("session_id", o.Get("session_id")); x.Row.TrajectoryID == "" && minor < 7 {
		x.Row.TrajectoryID = session // since 1.7, several documents may share it
	}
	b := &builder{record: r, own: jsontext.Unquote(jsontext.ParseObject(o.Get("agent")).Get("name")) == "rollmill"}
	b.trajectory(o, "")
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
	rewards(&x.Row, o)
	if b.own {
		readOwn(r, &x, o.Get("extra"))
	}
	b.Into(&x.Row)
	if len(x.Row.Calls) == 0 {
		importers.Fail(&x.Row, outcomes.FailNoCalls, "no step of the agent called a model")
	}
	return x
}

// versionOf returns the minor version of a document.
func versionOf(o jsontext.Object) (minor int) {
	v := o.Get("schema_version")
	text := jsontext.Unquote(v)
	switch {
	case len(v) == 0 && o.Has("trial_name"):
		must.Fail("schema_version is missing: this is the result of a Harbor trial; its trajectory is " +
			"agent/trajectory.json beside it")
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
