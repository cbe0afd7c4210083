package foreigntest

import (
	"encoding/json"
	"reflect"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// brief returns an item without the columns that are empty.
func brief(x *importers.Item) any {
	row := nonEmpty(reflect.ValueOf(x.Row)).(map[string]any)
	out := map[string]any{"row": row}
	if x.Epoch != nil {
		out["epoch"] = *x.Epoch
	}
	if x.Attempt != nil {
		out["attempt"] = *x.Attempt
	}
	if x.Pair != "" {
		out["pair"] = x.Pair
	}
	if x.Label != nil {
		out["label"] = *x.Label
	}
	return out
}

// nonEmpty returns a value as maps and lists of what is not zero.
func nonEmpty(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				out[f.Name] = nonEmpty(v.Field(i))
			}
		}
		return out
	case reflect.Pointer:
		return nonEmpty(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			return v.Interface()
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = nonEmpty(v.Index(i))
		}
		return out
	case reflect.String:
		if text := v.String(); json.Valid([]byte(text)) && text[0] == '{' {
			b, _ := jsontext.Append(nil, json.RawMessage(text))
			return json.RawMessage(b)
		}
	}
	return v.Interface()
}
