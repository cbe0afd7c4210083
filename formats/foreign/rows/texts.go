package rows

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// textOf returns a text; a number where the column is an id; the JSON of a value
// where the column is JSON.
func (r *row) textOf(path string, v []byte) string {
	switch {
	case objects[path]:
		return r.object(v)
	case path == "tool_sets":
		list, err := value.Array(v)
		if err != nil {
			importers.Refuse(err)
		}
		return list
	case v[0] == '"':
		return jsontext.Unquote(v)
	case value.ID(v) == "":
		must.Fail("it is %s, not text", importers.Brief(v))
	}
	return value.ID(v)
}

// objects are columns of JSON objects.
var objects = map[string]bool{"example": true, "calls.sampling": true, "candidates.metadata": true}

// object returns the text of an object, which may be JSON text.
func (r *row) object(v []byte) string {
	if len(v) == 0 {
		return ""
	}
	text := v
	if v[0] == '"' {
		if text = []byte(value.Scalar(v)); len(text) == 0 {
			return ""
		}
	}
	var reading jsontext.Reading
	object, ok := reading.Value(text)
	if reading.Refused != nil {
		importers.Refuse(reading.Refused)
	}
	if !ok || object[0] != '{' {
		must.Fail("%s is not a JSON object", importers.Brief(text))
	}
	if r.LoseAll(reading.Lost); v[0] == '"' && len(reading.Lost) == 0 {
		return jsontext.Unquote(v) // as it was written
	}
	return jsontext.Compact(object)
}

// whole reads a whole number. A time may be ISO 8601 text, as Parquet's timestamps are.
func whole(to reflect.Value, path string, v []byte) {
	text := value.Scalar(v)
	if text == "" {
		return
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(text, ".0"), 10, to.Type().Bits())
	if err != nil && (path == "started_at" || path == "finished_at") {
		var at time.Time
		if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
			at, err = time.Parse("2006-01-02T15:04:05.999999999", text) // of a column without a zone: UTC
		}
		if n = 0; err == nil {
			n = at.UnixMicro()
		}
	}
	if err != nil {
		must.Fail("%s is not a whole number of %d bits", importers.Brief(v), to.Type().Bits())
	}
	to.SetInt(n)
}

func (r *row) set(x *importers.Item) {
	t := &x.Row
	if r.values["epoch"] != nil {
		epoch := t.Epoch
		x.Epoch = &epoch
	}
	if r.values["generation"] != nil {
		attempt := int64(t.Generation)
		x.Attempt = &attempt
	}
	x.Final = t.TrajectoryID != "" && t.Run != "" && t.ExampleID != "" && x.Epoch != nil && x.Attempt != nil &&
		len(t.PayloadDigest) == 32
	if len(t.Messages) == 0 && t.Status == "" {
		t.Status = outcomes.StatusSkipped // a blank row
	}
	if r.values["reward"] == nil {
		t.Reward = total(r.values["rewards"], t.Rewards)
	}
	if v := r.values["label"]; v != nil {
		on, ok := value.Truth(v)
		if !ok {
			must.Fail("column %q is %s, neither true nor false", r.Column("label"), importers.Brief(v))
		}
		x.Label = &on
	}
	for i := range t.Calls {
		if tools := t.Calls[i].Tools; tools < -1 || int(tools) >= len(t.ToolSets) {
			must.Fail("call %d has the tools %d of %d", i, tools, len(t.ToolSets))
		}
	}
}

// total returns the sum of rewards that are an object, nil when one of them has
// no value. A list of rewards is a column of a dataset, which has a total of
// its own.
func total(v []byte, rewards []formats.NamedReward) *float64 {
	if len(v) == 0 || v[0] != '{' || len(rewards) == 0 {
		return nil
	}
	sum := 0.0
	for i := range rewards {
		if rewards[i].Value == nil {
			return nil
		}
		sum += *rewards[i].Value
	}
	return &sum
}

// namedRewards returns an object of named rewards as the list that the column is.
func namedRewards(v []byte) []byte {
	var list [][]byte
	for name, x := range jsontext.Members(v) {
		list = append(list, jsontext.Object{{Key: "weight", Raw: []byte("1")},
			{Key: "name", Raw: importers.Quote(string(name))}, {Key: "value", Raw: x}}.Bytes())
	}
	return value.Join(list)
}
