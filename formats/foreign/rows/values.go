package rows

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
)

// decode reads the columns that conversation does not.
func (r *row) decode(t *formats.Trajectory) {
	for _, f := range schema.FieldsOf(reflect.TypeFor[formats.Trajectory]()) {
		if r.values[f.Name] != nil && f.Name != "messages" && f.Name != "metadata" {
			r.column(f.Name, func(v []byte) { r.value(f.In(reflect.ValueOf(t).Elem()), f.Name, v) })
		}
	}
}

// objects are columns of JSON objects.
var objects = map[string]bool{"example": true, "calls.sampling": true, "candidates.metadata": true}

// value reads a value of a column, whose path is the names down to it.
func (r *row) value(to reflect.Value, path string, v []byte) {
	if string(v) == "null" {
		return
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(r.textOf(path, v))
	case reflect.Bool:
		on, ok := value.Truth(v)
		if !ok {
			must.Fail("%s is neither true nor false", importers.Brief(v))
		}
		to.SetBool(on)
	case reflect.Int32, reflect.Int64:
		whole(to, path, v)
	case reflect.Float32, reflect.Float64:
		x, err := strconv.ParseFloat(value.Scalar(v), to.Type().Bits())
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			must.Fail("%s is not a finite number", importers.Brief(v))
		}
		to.SetFloat(x)
	case reflect.Pointer:
		if value.Scalar(v) != "" { // an empty field of CSV
			to.Set(reflect.New(to.Type().Elem()))
			r.value(to.Elem(), path, v)
		}
	case reflect.Slice:
		r.list(to, path, v)
	default:
		r.members(to, path, v)
	}
}

// list reads a list, or JSON text with one.
func (r *row) list(to reflect.Value, path string, v []byte) {
	if v[0] == '"' {
		if v = []byte(value.Scalar(v)); len(v) == 0 {
			return
		}
	}
	if path == "rewards" && v[0] == '{' {
		v = namedRewards(v)
	}
	if v[0] != '[' || !jsontext.Valid(v) {
		must.Fail("it is %s, not a list", importers.Brief(v))
	}
	n := 0
	for range jsontext.Elements(v) {
		n++
	}
	to.Set(reflect.MakeSlice(to.Type(), n, n))
	n = 0
	defer func() {
		if v := recover(); v != nil {
			panic(importers.Placed(v, "element %d", n))
		}
	}()
	for e := range jsontext.Elements(v) {
		if string(e) == "null" {
			must.Fail("it is null")
		}
		r.value(to.Index(n), path, e)
		n++
	}
}

// namedRewards returns an object of named rewards as the list that the column
// is.
func namedRewards(v []byte) []byte {
	var list [][]byte
	for name, x := range jsontext.Members(v) {
		list = append(list, jsontext.Object{{Key: "weight", Raw: []byte("1")},
			{Key: "name", Raw: importers.Quote(string(name))}, {Key: "value", Raw: x}}.Bytes())
	}
	return value.Join(list)
}

// members reads an object.
func (r *row) members(to reflect.Value, path string, v []byte) {
	if v[0] != '{' {
		must.Fail("it is %s, not an object", importers.Brief(v))
	}
	if path == "calls" {
		to.Set(reflect.ValueOf(formats.Call{Sampling: "{}", Tools: -1, Target: true}))
	}
	if path == "candidates" {
		to.Set(reflect.ValueOf(formats.Candidate{Message: -1}))
	}
	for key, v := range jsontext.Members(v) {
		f, ok := member(to.Type(), string(key))
		if !ok {
			if string(v) != "null" {
				r.Lose(path+"."+string(key), "there is no such column")
			}
			continue
		}
		if path == "candidates" && f.Name == "tool_calls" {
			calls, rest, err := chat.ToolCalls(v, r.Record)
			if err != nil {
				importers.Refuse(err)
			}
			if rest != nil {
				r.Lose("candidates.tool_calls", "a call has members that no column holds")
			}
			f.In(to).Set(reflect.ValueOf(calls))
			continue
		}
		r.member(to, f, path, v)
	}
}

func (r *row) member(to reflect.Value, f schema.Field, path string, v []byte) {
	defer must.At("%s", f.Name)
	r.value(f.In(to), path+"."+f.Name, v)
}

func member(t reflect.Type, name string) (schema.Field, bool) {
	for _, f := range schema.FieldsOf(t) {
		if f.Name == name {
			return f, true
		}
	}
	return schema.Field{}, false
}

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

// whole reads a whole number. A time may be ISO 8601 text, as Parquet's
// timestamps are.
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
