package verifiers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// readEpisode converts the traces of a line. Without one, the episode failed before
// an agent began.
func readEpisode(r *importers.Record, o jsontext.Object) ([]importers.Item, error) {
	var in value.Reader
	list := in.List("traces", o.Get("traces"))
	if in.Err != nil {
		return nil, in.Err
	}
	e := &shared{several: map[string]bool{}}
	if err := e.read(o); err != nil {
		return nil, err
	}
	var traces []jsontext.Object
	for raw := range jsontext.Elements(list) {
		t := in.Object("traces", raw)
		if in.Err != nil {
			return nil, in.Err
		}
		traces = append(traces, t)
		e.several[jsontext.Unquote(jsontext.ParseObject(t.Get("agent")).Get("name"))] = true
	}
	if len(traces) == 0 {
		return importers.One(e.failed(o))
	}
	var out []importers.Item
	for i, t := range traces {
		x, err := readTrace(r, t, e)
		if err != nil {
			return nil, fmt.Errorf("traces[%d]: %w", i, err)
		}
		out = append(out, x)
	}
	return out, nil
}

// shared is what the traces of an episode share.
type shared struct {
	meta    []byte // id, env, group, run
	epoch   *int32 // the training step
	version *int64 // of the policy, when one answered everything
	several map[string]bool
}

func (e *shared) read(o jsontext.Object) error {
	var in value.Reader
	e.meta = jsontext.Object(slices.Collect(value.Rest(o, "traces", "task", "ok"))).Bytes()
	work := in.Object("run.work", in.Object("run", o.Get("run")).Get("work"))
	if step := in.Whole("run.work.step", work.Get("step")); step != nil && *step >= 0 && *step < 1<<31 {
		epoch := int32(*step)
		e.epoch = &epoch
	}
	policy := in.Object("run.work.policy", work.Get("policy"))
	start, end := in.Whole("policy.start", policy.Get("start")), in.Whole("policy.end", policy.Get("end"))
	if start != nil && end != nil && *start == *end {
		e.version = start
	}
	return in.Err
}

func (e *shared) failed(o jsontext.Object) (x importers.Item, err error) {
	var in value.Reader
	x.Epoch = e.epoch
	x.Row.TrajectoryID = in.Text("id", o.Get("id"))
	readTask(&in, &x.Row, o.Get("task"))
	x.Row.Status = outcomes.StatusFailed
	x.Row.FailureClass, x.Row.Error = readFailure(&in, o, outcomes.FailNoCalls)
	var meta importers.Metadata
	meta.Add("episode", e.meta)
	x.Row.Metadata = meta.String()
	return x, in.Err
}

// readTask reads a task: its data is the example. Its key is the example's id; a key
// that is only the hash of the data gives way to an id that the data has.
func readTask(in *value.Reader, row *formats.Trajectory, v []byte) {
	o := in.Object("task", v)
	data := in.Object("task.data", o.Get("data"))
	if data != nil {
		row.Example = jsontext.Compact(exampleOf(data, o))
	}
	hash := in.ID("task.hash", o.Get("hash"))
	row.ExampleID = in.ID("task.key", o.Get("key"))
	if id := in.ID("task.data.id", data.Get("id")); id != "" && (row.ExampleID == "" || row.ExampleID == hash) {
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
func readFailure(in *value.Reader, o jsontext.Object, otherwise string) (class, text string) {
	var last jsontext.Object
	for e := range jsontext.Elements(in.List("errors", o.Get("errors"))) {
		last = in.Object("errors", e)
	}
	kind := in.Text("errors.type", last.Get("type"))
	text = in.Text("errors.message", last.Get("message"))
	status := in.Whole("errors.status_code", last.Get("status_code"))
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
