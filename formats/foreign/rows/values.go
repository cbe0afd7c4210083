package rows

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
)

// decode reads the columns that conversation does not.
func (r *row) decode(t *formats.Trajectory) error {
	for _, f := range schema.FieldsOf(reflect.TypeFor[formats.Trajectory]()) {
		name := f.Name
		v := r.values[name]
		if v == nil || name == "messages" || name == "metadata" {
			continue
		}
		if err := r.value(f.In(reflect.ValueOf(t).Elem()), name, v); err != nil {
			return fmt.Errorf("column %q: %w", r.Column(name), err)
		}
	}
	return nil
}

// objects are columns of JSON objects.
var objects = map[string]bool{"example": true, "calls.sampling": true, "candidates.metadata": true}

// value reads a value of a column, whose path is the names down to it.
func (r *row) value(to reflect.Value, path string, v []byte) (err error) {
	if string(v) == "null" {
		return nil
	}
	switch to.Kind() {
	case reflect.String:
		var text string
		if text, err = r.textOf(path, v); err == nil {
			to.SetString(text)
		}
		return err
	case reflect.Bool:
		on, ok := value.Truth(v)
		if !ok {
			return fmt.Errorf("%s is neither true nor false", importers.Brief(v))
		}
		to.SetBool(on)
		return nil
	case reflect.Int32, reflect.Int64:
		return whole(to, path, v)
	case reflect.Float32, reflect.Float64:
		x, err := strconv.ParseFloat(value.Scalar(v), to.Type().Bits())
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s is not a finite number", importers.Brief(v))
		}
		to.SetFloat(x)
		return nil
	case reflect.Pointer:
		if value.Scalar(v) == "" {
			return nil // an empty field of CSV
		}
		to.Set(reflect.New(to.Type().Elem()))
		return r.value(to.Elem(), path, v)
	case reflect.Slice:
		return r.list(to, path, v)
	}
	return r.members(to, path, v)
}

// list reads a list, or JSON text with one.
func (r *row) list(to reflect.Value, path string, v []byte) error {
	if v[0] == '"' {
		if v = []byte(value.Scalar(v)); len(v) == 0 {
			return nil
		}
	}
	if path == "rewards" && v[0] == '{' {
		v = namedRewards(v)
	}
	if v[0] != '[' || !jsontext.Valid(v) {
		return fmt.Errorf("it is %s, not a list", importers.Brief(v))
	}
	n := 0
	for range jsontext.Elements(v) {
		n++
	}
	to.Set(reflect.MakeSlice(to.Type(), n, n))
	n = 0
	for e := range jsontext.Elements(v) {
		if string(e) == "null" {
			return fmt.Errorf("element %d is null", n)
		}
		if err := r.value(to.Index(n), path, e); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
		n++
	}
	return nil
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
func (r *row) members(to reflect.Value, path string, v []byte) error {
	if v[0] != '{' {
		return fmt.Errorf("it is %s, not an object", importers.Brief(v))
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
				return err
			}
			if rest != nil {
				r.Lose("candidates.tool_calls", "a call has members that no column holds")
			}
			f.In(to).Set(reflect.ValueOf(calls))
			continue
		}
		if err := r.value(f.In(to), path+"."+f.Name, v); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
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
func (r *row) textOf(path string, v []byte) (string, error) {
	switch {
	case objects[path]:
		return r.object(v)
	case path == "tool_sets":
		return value.Array(v)
	case v[0] == '"':
		return jsontext.Unquote(v), nil
	case value.ID(v) != "":
		return value.ID(v), nil
	}
	return "", fmt.Errorf("it is %s, not text", importers.Brief(v))
}

// object returns the text of an object, which may be JSON text.
func (r *row) object(v []byte) (string, error) {
	if len(v) == 0 {
		return "", nil
	}
	text := v
	if v[0] == '"' {
		if text = []byte(value.Scalar(v)); len(text) == 0 {
			return "", nil
		}
	}
	var reading jsontext.Reading
	object, ok := reading.Value(text)
	if reading.Refused != nil {
		return "", reading.Refused
	}
	if !ok || object[0] != '{' {
		return "", fmt.Errorf("%s is not a JSON object", importers.Brief(text))
	}
	if r.LoseAll(reading.Lost); v[0] == '"' && len(reading.Lost) == 0 {
		return jsontext.Unquote(v), nil // as it was written
	}
	return jsontext.Compact(object), nil
}

// whole reads a whole number. A time may be ISO 8601 text, as Parquet's
// timestamps are.
func whole(to reflect.Value, path string, v []byte) error {
	text := value.Scalar(v)
	if text == "" {
		return nil
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
		return fmt.Errorf("%s is not a whole number of %d bits", importers.Brief(v), to.Type().Bits())
	}
	to.SetInt(n)
	return nil
}
