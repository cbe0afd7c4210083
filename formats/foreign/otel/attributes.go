package otel

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// readAttributes returns attributes of OTLP as JSON values.
func readAttributes(list []byte) (out jsontext.Object) {
	for raw := range jsontext.Elements(list) {
		o := jsontext.ParseObject(raw)
		key := jsontext.Unquote(o.Get("key"))
		if key == "" {
			must.Fail("an attribute has no key: %s", importers.Brief(raw))
		}
		out = append(out, jsontext.Member{Key: key, Raw: readAttribute(key, o.Get("value"))})
	}
	return out
}

func readAttribute(key string, v []byte) []byte {
	defer must.At("the attribute %s", key)
	return readAnyValue(v, 0)
}

// readAnyValue returns a value of OTLP as JSON.
func readAnyValue(raw []byte, depth int) []byte {
	if depth > maxDepth {
		must.Fail("values are nested more than %d deep", maxDepth)
	}
	for key, v := range jsontext.Members(raw) {
		switch string(key) {
		case "stringValue", "string_value", "boolValue", "bool_value", "bytesValue", "bytes_value":
			return v
		case "doubleValue", "double_value":
			if v[0] == '"' { // NaN and infinities
				return []byte("null")
			}
			return v
		case "intValue", "int_value":
			text := string(v)
			if v[0] == '"' {
				text = jsontext.Unquote(v)
			}
			if _, err := strconv.ParseInt(text, 10, 64); err != nil {
				must.Fail("intValue is %s", importers.Brief(v))
			}
			return []byte(text)
		case "arrayValue", "array_value":
			var out [][]byte
			for e := range jsontext.Elements(jsontext.ParseObject(v).Get("values")) {
				out = append(out, readAnyValue(e, depth+1))
			}
			return value.Join(out)
		case "kvlistValue", "kvlist_value":
			var out jsontext.Object
			for e := range jsontext.Elements(jsontext.ParseObject(v).Get("values")) {
				o := jsontext.ParseObject(e)
				out = append(out, jsontext.Member{Key: jsontext.Unquote(o.Get("key")), Raw: readAnyValue(o.Get("value"), depth+1)})
			}
			return out.Bytes()
		}
	}
	return []byte("null")
}

// maxDepth bounds how deep values are in others.
const maxDepth = 200

// nanos reads a time in nanoseconds, a number or a text of one, in microseconds.
func nanos(v []byte) int64 {
	text := string(v)
	if len(v) > 0 && v[0] == '"' {
		text = jsontext.Unquote(v)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n / 1000
}

// plainID returns the trace_id or the span_id of a span of the console exporter, or of Phoenix; nil for none.
func plainID(o jsontext.Object, name string) []byte {
	if v := jsontext.ParseObject(o.Get("context")).First(name); v != nil {
		return v
	}
	return o.First("context." + name)
}

func traceID(v []byte) string { return id(v, 16) }

func spanID(v []byte) string { return id(v, 8) }

// id returns an id as OTLP writes it, in hexadecimal digits. protobuf's own JSON
// has base64, the console exporter a prefix. An id of another form is returned
// unchanged.
func id(v []byte, bytes int) string {
	text := strings.TrimPrefix(jsontext.Unquote(v), "0x")
	if len(text) == 2*bytes {
		return strings.ToLower(text)
	}
	if len(text) == base64.StdEncoding.EncodedLen(bytes) {
		if b, err := base64.StdEncoding.DecodeString(text); err == nil && len(b) == bytes {
			return hex.EncodeToString(b)
		}
	}
	return text
}
