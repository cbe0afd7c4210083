// Package nemogym reads rollouts of NVIDIA NeMo Gym: the JSON lines of rollout
// collection, with tokens where a model server returned them, the failures file
// beside them, and the records of token capture.
//
// A file of token capture has the calls of a rollout, but neither their prompts'
// messages nor the reward: those are in another file, and files are imported one by
// one. So the calls become a trajectory of their own, with exact tokens. The
// rollout id joins them, wherever they are in the file, and each continues the call
// that it names, or else the call with whose tokens its prompt begins.
package nemogym

import (
	"bytes"
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/storage/fault"
)

// Importer reads the files of NeMo Gym.
var Importer = importers.Format{
	Name: "nemo-gym",
	Help: "rollouts and token capture of NVIDIA NeMo Gym, in JSON lines",
	Spec: "NVIDIA-NeMo/Gym: fern/versions/latest/pages/reference/trajectory-capabilities.mdx, " +
		"nemo_gym/rollout_collection.py and token_id_capture/records.py",
	Unscored:   regexp.MustCompile(`^reward$`),
	Extensions: []string{".jsonl"},
	Records:    cut,
}.ParsedBy(parse)

func parse(r *importers.Record) ([]importers.Item, error) {
	data := value.JSON(r, r.Data)
	if data[0] == '[' {
		return []importers.Item{capture(data)}, nil
	}
	o := jsontext.ParseObject(data)
	switch {
	case o.Has("responses_create_params"):
		return []importers.Item{rollout(o)}, nil
	case o.Has("model_call_id") && o.Has("dialect"):
		return nil, errors.New("it is an exchange of model-call capture, which has no rollout: import the rollouts")
	case o.Has("model_call_id"):
		return nil, errors.New("it is a call of token capture without a rollout_id: nothing says which rollout it belongs to")
	}
	return nil, errors.New("it has no responses_create_params: it is not a rollout")
}

// maxHeld bounds the memory for rollouts of which calls are still to come. Tests reduce it.
var maxHeld = importers.MaxDocument

// cut makes one record of a rollout: of a line, or of all lines of token capture
// with one rollout id, at the last of them. For these the file is read twice:
// first to count the calls of each rollout, so that a rollout is held no longer
// than its lines need.
func cut(f importers.File, yield func(importers.Record) bool) error {
	var calls map[string]int // to come, by rollout
	open, held, n := map[string]*importers.Record{}, 0, int64(0)
	for r, err := range importers.Rows.All(f) {
		if err != nil {
			return err
		}
		if id := captured(r.Data); id != "" {
			if calls == nil {
				if calls, err = count(f); err != nil {
					return err
				}
			}
			rollout := open[id]
			if rollout == nil {
				rollout = &importers.Record{Line: r.Line, Options: r.Options}
				open[id] = rollout
			}
			rollout.Data = append(append(rollout.Data, "[,"[min(len(rollout.Data), 1)]), r.Data...)
			if held += 1 + len(r.Data); held > maxHeld {
				return fault.Invalid(f.Name, "sort its lines by rollout_id, or split the file by it", nil,
					"rollouts of which calls are still to come have more than %d MiB", maxHeld>>20)
			}
			if calls[id]--; calls[id] > 0 {
				continue
			}
			delete(open, id)
			r, held = *rollout, held-len(rollout.Data)
			r.Data = append(r.Data, ']')
		}
		r.Row = n
		n++
		if !yield(r) {
			break
		}
	}
	return nil
}

// count returns the number of calls of each rollout that the lines of token capture have.
func count(f importers.File) (map[string]int, error) {
	calls := map[string]int{}
	return calls, importers.Rows(f, func(r importers.Record) bool {
		if id := captured(r.Data); id != "" {
			calls[id]++
		}
		return true
	})
}

// captured returns the rollout id of a line of token capture, "" for any other.
func captured(line []byte) string {
	if !bytes.Contains(line, []byte(`"model_call_id"`)) || !bytes.Contains(line, []byte(`"rollout_id"`)) ||
		!jsontext.Valid(line) {
		return ""
	}
	id := ""
	for key, v := range jsontext.Members(line) {
		switch string(key) {
		case "rollout_id":
			id = jsontext.Unquote(v)
		case "responses_create_params":
			return ""
		}
	}
	return id
}

func rollout(o jsontext.Object) (x importers.Item) {
	row := &x.Row
	params := must.Object("responses_create_params", o.Get("responses_create_params"))
	response := must.Object("response", o.Get("response"))
	row.ExampleID = must.ID("_ng_task_index", o.Get("_ng_task_index"))
	x.Attempt = must.Whole("_ng_rollout_index", o.Get("_ng_rollout_index"))
	row.TrajectoryID = must.Text("response.id", response.Get("id"))
	class := must.Text("_ng_failure_class", o.Get("_ng_failure_class"))
	if response == nil && class == "" {
		must.Fail("it has no response and no _ng_failure_class")
	}
	b := builder{model: must.Text("response.model", response.Get("model")), sampling: sampling(params)}
	b.read(params, response)
	b.usage(response)
	b.Times.Began, b.Times.Done = value.Micros(response.Get("created_at")), value.Micros(response.Get("completed_at"))
	b.Times.Done = cmp.Or(b.Times.Done, b.Times.Began)
	b.Into(row)
	row.Reward = must.Number("reward", o.Get("reward"))
	status(row, response, class)
	row.Example = example(params, o)
	keepRest(&b.Meta, o, response)
	if row.Reward == nil {
		b.Meta.Add("reward", o.Get("reward")) // of an attempt that failed
	}
	row.Metadata = b.Meta.String()
	return x
}

// status sets the status of a rollout. A failed one has no reward.
func status(row *formats.Trajectory, response jsontext.Object, class string) {
	e := response.Get("error")
	switch {
	case class != "":
		importers.Fail(row, outcomes.FailInternal, class)
		if strings.Contains(class, "timeout") {
			row.FailureClass = outcomes.FailTimeout
		}
	case len(e) > 0 && string(e) != "null":
		importers.Fail(row, outcomes.FailEngine, errorText(e))
	case must.Text("response.status", response.Get("status")) == "cancelled":
		importers.Fail(row, outcomes.FailCancelled, "")
	case must.Text("response.status", response.Get("status")) == "failed":
		importers.Fail(row, outcomes.FailEngine, "")
	case len(row.Calls) == 0:
		importers.Fail(row, outcomes.FailNoCalls, "the response has no output of the model")
	}
}

func errorText(e []byte) string {
	if o := jsontext.ParseObject(e); o.Has("message") {
		return jsontext.Unquote(o.Get("message"))
	}
	return jsontext.Compact(e)
}

// settings are the members of a request that decide how the model samples.
var settings = []string{"temperature", "top_p", "max_output_tokens", "reasoning", "tool_choice",
	"parallel_tool_calls", "top_logprobs", "text", "truncation", "seed"}

// sampling returns the settings of a request, without what is not one.
func sampling(params jsontext.Object) string {
	var out jsontext.Object
	for _, f := range params {
		if slices.Contains(settings, f.Key) && string(f.Raw) != "null" {
			out = append(out, f)
		}
	}
	return jsontext.Compact(out.Bytes())
}

// inputs begin the names of members of a row that its task has.
var inputs = []string{"expected", "ground_truth", "answer", "question", "problem", "verifier_metadata", "instance_id",
	"task_id", "uuid"}

// example returns the row of the task, as far as a rollout tells it from what the verifier added.
func example(params, o jsontext.Object) string {
	row := jsontext.Object{{Key: "responses_create_params", Raw: value.Without(params).Bytes()}}
	for _, f := range o {
		for _, name := range inputs {
			if strings.HasPrefix(f.Key, name) {
				row.Set(f.Key, f.Raw)
			}
		}
	}
	return jsontext.Compact(row.Bytes())
}

// keepRest keeps what the verifier and the collection added, and what a response
// has beside its output.
func keepRest(meta *importers.Metadata, o, response jsontext.Object) {
	meta.AddRest(o, "responses_create_params", "response", "reward", "_ng_task_index", "_ng_rollout_index")
	if rest := value.Without(response, "id", "output", "model", "tools", "object"); len(rest) > 0 {
		meta.Add("response", rest.Bytes())
	}
}
