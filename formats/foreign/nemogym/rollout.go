package nemogym

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// rollout converts a row of rollout collection.
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

// example returns the row of the task, as far as a rollout tells it from what the
// verifier added.
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
