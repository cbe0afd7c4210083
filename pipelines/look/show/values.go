package show

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
)

// sparse are the texts that most rows do not have. JSON leaves them out of these
// rows; any other null text is empty there, and other nulls are null.
var sparse = []string{"failure_class", "error", "failure", "no_advantage", "reason", "detail", "turn"}

// Values are columns of a row in order. As JSON they are an object.
type Values []Value

// Value is a column of a row. Its value is a text, a boolean, a number, a pointer
// to one of a nullable column, a list ([]any) or a group of columns (Values).
type Value struct {
	Name  string
	Value any
}

// asDocumented orders the columns of a row as their documentation does: a file may
// have others first (see package parquet). Columns of a newer version are the last.
func (v Values) asDocumented(kind schema.Kind) {
	place, columns := map[string]int{}, schema.Columns(kind)
	for i, c := range columns {
		name, _, _ := strings.Cut(c.Path, ".")
		place[name] = i - len(columns)
	}
	slices.SortStableFunc(v, func(a, b Value) int { return cmp.Compare(place[a.Name], place[b.Name]) })
}

// valuesOf returns the fields of a struct with columns of a file.
func valuesOf(v reflect.Value) Values {
	var out Values
	for i, f := range schema.FieldsOf(v.Type()) { // each field has a column
		out = append(out, Value{f.Name, valueOf(v.Field(i))})
	}
	return out
}

func valueOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Struct:
		return valuesOf(v)
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = valueOf(v.Index(i))
		}
		return list
	}
	if text, is := v.Interface().(*string); is {
		if text == nil {
			return ""
		}
		return *text
	}
	return v.Interface()
}

// Of returns the value of a column, nil if it is not there.
func (c Values) Of(name string) any {
	for _, v := range c {
		if v.Name == name {
			return v.Value
		}
	}
	return nil
}

// MarshalJSON writes an object.
func (c Values) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for _, v := range c {
		if v.Value == "" && slices.Contains(sparse, v.Name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsontext.AppendString(out, v.Name), ':')
		var err error
		if out, err = jsontext.Append(out, v.Value); err != nil {
			return nil, fmt.Errorf("column %s: %w", v.Name, err)
		}
	}
	return append(out, '}'), nil
}
