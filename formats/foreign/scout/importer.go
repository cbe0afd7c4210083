package scout

import (
	"errors"
	"strconv"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/inspect"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Importer reads the transcripts of Inspect Scout's databases, from any source
// that Scout reads, and those that rollmill export wrote.
//
// A transcript has the messages, events and pools of a sample of an Inspect log;
// formats/foreign/inspect reads them. The other columns have fixed names, or
// are metadata.
var Importer = importers.Format{
	Name:       "inspect-scout",
	Help:       "transcripts of Inspect Scout's databases",
	Spec:       "meridianlabs-ai/inspect_scout: docs/db_schema.qmd",
	Extensions: []string{".parquet", ".jsonl"},
	Records:    importers.Rows,
	Parse:      parse,
}

func parse(r *importers.Record) ([]importers.Item, error) {
	o, err := value.Object(r, r.Data)
	if err != nil {
		return nil, err
	}
	return importers.One(transcript(r, o))
}

// columns are the members of a sample by the column; JSON columns hold text.
var columns = map[string]string{"transcript_id": "uuid", "task_id": "id", "task_repeat": "epoch", "date": "started_at"}

func transcript(r *importers.Record, o jsontext.Object) (x importers.Item, err error) {
	var in value.Reader
	var sample jsontext.Builder
	var eval jsontext.Object
	for _, name := range []string{"messages", "events", "events_data", "timelines"} {
		if v := decoded(r, &in, name, o.Get(name)); len(v) > 0 {
			sample.Set(name, v)
		}
	}
	if in.Err == nil && !sample.Has("messages") {
		return x, errors.New("it has no messages")
	}
	if text := in.Text("error", o.Get("error")); text != "" {
		sample.Set("error", jsontext.Object{{Key: "message", Raw: importers.Quote(text)}}.Bytes())
	}
	if o.Has("limit") {
		in.Text("limit", o.Get("limit"))
		sample.Set("limit", jsontext.Object{{Key: "type", Raw: o.Get("limit")}}.Bytes())
	}
	sample.Set("scores", scores(r, &in, o))
	for _, f := range o {
		switch name := columns[f.Key]; f.Key {
		case "messages", "events", "events_data", "timelines", "error", "limit", "score", "rewards", "model", "task_set",
			"message_count":
		case "source_type", "source_id", "source_uri", "agent", "total_time", "total_tokens", "success":
			sample.Set(f.Key, f.Raw)
		case "model_options", "agent_args":
			sample.Set(f.Key, decoded(r, &in, f.Key, f.Raw))
		default:
			if name == "" {
				name = f.Key
				if sample.Has(name) || inspectMember[name] {
					name = "column_" + name
				}
			}
			sample.Set(name, f.Raw)
		}
	}
	eval.Set("model", value.OrNull(o.Get("model")))
	eval.Set("task", value.OrNull(o.Get("task_set")))
	if in.Err != nil {
		return x, in.Err
	}
	x, err = inspect.Sample(sample.Object, jsontext.Object{{Key: "eval", Raw: eval.Bytes()}}, true)
	if err != nil {
		return x, err
	}
	options := in.Object("model_options", decoded(r, &in, "model_options", o.Get("model_options")))
	for i := range x.Row.Calls {
		c := &x.Row.Calls[i]
		if c.Sampling == "{}" && len(options) > 0 {
			c.Sampling = jsontext.Compact(options.Bytes())
		}
		if c.Model == "" {
			c.Model = in.Text("model", o.Get("model"))
		}
	}
	ours(&in, &x, o)
	return x, in.Err
}

// inspectMember are the names that Sample reads.
var inspectMember = map[string]bool{"uuid": true, "id": true, "input": true, "target": true, "choices": true,
	"metadata": true, "files": true, "setup": true,
	"sandbox": true, "output": true, "scores": true, "attachments": true, "started_at": true, "completed_at": true,
	"eval": true}

// decoded returns the value of a column that holds JSON as text.
func decoded(r *importers.Record, in *value.Reader, name string, v []byte) []byte {
	if len(v) == 0 || v[0] != '"' || in.Err != nil {
		return v
	}
	text := jsontext.Unquote(v)
	if text == "" {
		return nil
	}
	out, err := value.JSON(r, []byte(text))
	if err != nil {
		in.Fail("%s: %w", name, err)
	}
	return out
}

// scores returns the score as that of a scorer. It may be JSON or any text.
// Components that rollmill exported are scorers of their own.
func scores(r *importers.Record, in *value.Reader, o jsontext.Object) []byte {
	var out jsontext.Object
	set := func(name string, v []byte) {
		out.Set(name, jsontext.Object{{Key: "value", Raw: v}}.Bytes())
	}
	if rewards := jsontext.ParseObject(decoded(r, in, "rewards", o.Get("rewards"))); rewards != nil {
		for _, f := range rewards {
			set(f.Key, f.Raw)
		}
		return out.Bytes()
	}
	if score := o.Get("score"); o.Has("score") {
		if text := []byte(jsontext.Unquote(score)); jsontext.Valid(text) {
			score = text
		}
		set("score", score)
	}
	return out.Bytes()
}

// ours reads the columns that rollmill export adds: the total of several
// components, the status, the epoch and the version of the policy.
func ours(in *value.Reader, x *importers.Item, o jsontext.Object) {
	if in.Text("source_type", o.Get("source_type")) != "rollmill" {
		return
	}
	row := &x.Row
	row.Status = in.Text("status", o.Get("status"))
	row.StopReason = in.Text("stop_reason", o.Get("stop_reason"))
	row.FailureClass = in.Text("failure_class", o.Get("failure_class"))
	version := in.Whole("policy_version", o.Get("policy_version"))
	for i := range row.Calls {
		row.Calls[i].PolicyVersion = version
	}
	if epoch := in.Whole("epoch", o.Get("epoch")); epoch != nil && *epoch >= 0 && *epoch < 1<<31 {
		n := int32(*epoch)
		x.Epoch = &n
	}
	row.Reward = nil
	if score, err := strconv.ParseFloat(in.ID("score", o.Get("score")), 64); err == nil &&
		row.Status != outcomes.StatusFailed {
		row.Reward = &score
	}
}
