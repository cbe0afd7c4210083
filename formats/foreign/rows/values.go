package rows

import (
	"math"
	"reflect"
	"slices"
	"strconv"

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
	n, all := 0, slices.Collect(jsontext.Elements(v))
	to.Set(reflect.MakeSlice(to.Type(), len(all), len(all)))
	defer func() {
		if v := recover(); v != nil {
			panic(importers.Placed(v, "element %d", n))
		}
	}()
	for ; n < len(all); n++ {
		if string(all[n]) == "null" {
			must.Fail("it is null")
		}
		r.value(to.Index(n), path, all[n])
	}
}

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
	fields := schema.FieldsOf(to.Type())
	for key, v := range jsontext.Members(v) {
		at := slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == string(key) })
		if at < 0 {
			if string(v) != "null" {
				r.Lose(path+"."+string(key), "there is no such column")
			}
			continue
		}
		f := fields[at]
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
	defer must.In(f.Name)
	r.value(f.In(to), path+"."+f.Name, v)
}
