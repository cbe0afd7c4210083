// Package scout reads and writes the transcripts of Inspect Scout. Exporter and
// Importer say how.
package scout

import (
	"strconv"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/inspect"
	"github.com/rollmill/rollmill/formats/foreign/must"
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
}.ParsedBy(parse)

func parse(r *importers.Record) ([]importers.Item, error) {
	return []importers.Item{transcript(r, value.Object(r, r.Data))}, nil
}

// columns are the members of a sample by the column; JSON columns hold text.
var columns = map[string]string{"transcript_id": "uuid", "task_id": "id", "task_repeat": "epoch", "date": "started_at"}

func transcript(r *importers.Record, o jsontext.Object) (x importers.Item) {
	var sample jsontext.Builder
	var eval jsontext.Object
	for _, name := range []string{"messages", "events", "events_data", "timelines"} {
		if v := decoded(r, name, o.Get(name)); len(v) > 0 {
			sample.Set(name, v)
		}
	}
	if !sample.Has("messages") {
		must.Fail("it has no messages")
	}
	if text := must.Text("error", o.Get("error")); text != "" {
		sample.Set("error", jsontext.Object{{Key: "message", Raw: importers.Quote(text)}}.Bytes())
	}
	if o.Has("limit") {
		must.Text("limit", o.Get("limit"))
		sample.Set("limit", jsontext.Object{{Key: "type", Raw: o.Get("limit")}}.Bytes())
	}
	sample.Set("scores", scores(r, o))
	for _, f := range o {
		switch name := columns[f.Key]; f.Key {
		case "messages", "events", "events_data", "timelines", "error", "limit", "score", "rewards", "model", "task_set",
			"message_count":
		case "source_type", "source_id", "source_uri", "agent", "total_time", "total_tokens", "success":
			sample.Set(f.Key, f.Raw)
		case "model_options", "agent_args":
			sample.Set(f.Key, decoded(r, f.Key, f.Raw))
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
	x = inspect.Sample(sample.Object, jsontext.Object{{Key: "eval", Raw: eval.Bytes()}}, true)
	options := must.Object("model_options", decoded(r, "model_options", o.Get("model_options")))
	for i := range x.Row.Calls {
		c := &x.Row.Calls[i]
		if c.Sampling == "{}" && len(options) > 0 {
			c.Sampling = jsontext.Compact(options.Bytes())
		}
		if c.Model == "" {
			c.Model = must.Text("model", o.Get("model"))
		}
	}
	ours(&x, o)
	return x
}

// inspectMember are the names that Sample reads.
var inspectMember = map[string]bool{"uuid": true, "id": true, "input": true, "target": true, "choices": true,
	"metadata": true, "files": true, "setup": true,
	"sandbox": true, "output": true, "scores": true, "attachments": true, "started_at": true, "completed_at": true,
	"eval": true}

// decoded returns the value of a column that holds JSON as text.
func decoded(r *importers.Record, name string, v []byte) []byte {
	if len(v) == 0 || v[0] != '"' {
		return v
	}
	text := jsontext.Unquote(v)
	if text == "" {
		return nil
	}
	defer must.In(name)
	return value.JSON(r, []byte(text))
}

// scores returns the score as that of a scorer. It may be JSON or any text.
// Components that rollmill exported are scorers of their own.
func scores(r *importers.Record, o jsontext.Object) []byte {
	var out jsontext.Object
	set := func(name string, v []byte) {
		out.Set(name, jsontext.Object{{Key: "value", Raw: v}}.Bytes())
	}
	if rewards := jsontext.ParseObject(decoded(r, "rewards", o.Get("rewards"))); rewards != nil {
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
func ours(x *importers.Item, o jsontext.Object) {
	if must.Text("source_type", o.Get("source_type")) != "rollmill" {
		return
	}
	row := &x.Row
	row.Status = must.Text("status", o.Get("status"))
	row.StopReason = must.Text("stop_reason", o.Get("stop_reason"))
	row.FailureClass = must.Text("failure_class", o.Get("failure_class"))
	version := must.Whole("policy_version", o.Get("policy_version"))
	for i := range row.Calls {
		row.Calls[i].PolicyVersion = version
	}
	if epoch := must.Whole("epoch", o.Get("epoch")); epoch != nil && *epoch >= 0 && *epoch < 1<<31 {
		n := int32(*epoch)
		x.Epoch = &n
	}
	row.Reward = nil
	if score, err := strconv.ParseFloat(must.ID("score", o.Get("score")), 64); err == nil &&
		row.Status != outcomes.StatusFailed {
		row.Reward = &score
	}
}
