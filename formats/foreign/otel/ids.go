package otel

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// first returns the first member that is there and not null.
func first(o jsontext.Object, keys ...string) []byte {
	for _, k := range keys {
		if o.Has(k) {
			return o.Get(k)
		}
	}
	return nil
}

// plainID returns the trace_id or the span_id of a span of the console exporter, or of Phoenix; nil for none.
func plainID(o jsontext.Object, name string) []byte {
	if v := first(jsontext.ParseObject(o.Get("context")), name); v != nil {
		return v
	}
	return first(o, "context."+name)
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
