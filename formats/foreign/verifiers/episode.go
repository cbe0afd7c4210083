package verifiers

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// readEpisode converts the traces of a line. Without one, the episode failed before
// an agent began.
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
