package rows

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
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
