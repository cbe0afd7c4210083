package otel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Request is a request to a collector: spans of one resource. It is encoded as JSON
// or by Protobuf.
type Request struct {
	Resource []Attribute // besides service.name
	Spans    []Span
}

const service = "rollmill"

// The kinds of spans in use, by OTLP.
const (
	internal = 1
	client   = 3
)

const statusError = 2

// Span is a span of a trace.
type Span struct {
	TraceID    ID          `json:"traceId"`
	SpanID     ID          `json:"spanId"`
	ParentID   ID          `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      Nanos       `json:"startTimeUnixNano"`
	End        Nanos       `json:"endTimeUnixNano"`
	Attributes []Attribute `json:"attributes"`
	Events     []Event     `json:"events,omitempty"`
	Status     *Status     `json:"status,omitempty"`
}

// Event is an event of a span.
type Event struct {
	Time       Nanos       `json:"timeUnixNano"`
	Name       string      `json:"name"`
	Attributes []Attribute `json:"attributes"`
}

// Status is the status of a span that failed.
type Status struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

// Attribute is an attribute, whose value is a string, a bool, an int64, a finite
// float64 or a []string.
type Attribute struct {
	Key   string
	Value any
}

// ID is the bytes of an id, in JSON their hexadecimal digits.
type ID []byte

// Nanos is a time since 1970 in nanoseconds, in JSON a string.
type Nanos uint64

// MarshalJSON writes the digits.
func (id ID) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(id)) }

// MarshalJSON writes a string, since 64 bits do not fit into a number of JSON.
func (n Nanos) MarshalJSON() ([]byte, error) {
	return json.Marshal(strconv.FormatUint(uint64(n), 10))
}

// MarshalJSON writes the value with its type.
func (a Attribute) MarshalJSON() ([]byte, error) {
	return jsontext.Append(nil, struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}{a.Key, typed(a.Value)})
}

func typed(v any) map[string]any {
	switch v := v.(type) {
	case string:
		return map[string]any{"stringValue": v}
	case bool:
		return map[string]any{"boolValue": v}
	case int64:
		return map[string]any{"intValue": strconv.FormatInt(v, 10)}
	case []string:
		values := []map[string]any{}
		for _, s := range v {
			values = append(values, typed(s))
		}
		return map[string]any{"arrayValue": map[string]any{"values": values}}
	}
	return map[string]any{"doubleValue": v}
}

// MarshalJSON writes the request as JSON of OTLP.
func (r Request) MarshalJSON() ([]byte, error) {
	type scopeSpans struct {
		Scope map[string]string `json:"scope"`
		Spans []Span            `json:"spans"`
	}
	type resourceSpans struct {
		Resource   map[string][]Attribute `json:"resource"`
		ScopeSpans []scopeSpans           `json:"scopeSpans"`
	}
	return jsontext.Append(nil, map[string]any{"resourceSpans": []resourceSpans{{
		Resource:   map[string][]Attribute{"attributes": r.resource()},
		ScopeSpans: []scopeSpans{{map[string]string{"name": service}, r.Spans}},
	}}})
}

// resource returns the attributes of the resource: the last of a name counts.
func (r Request) resource() []Attribute {
	for _, a := range r.Resource {
		if a.Key == "service.name" {
			return r.Resource
		}
	}
	return append([]Attribute{{"service.name", service}}, r.Resource...)
}

// idOf returns an id of so many bytes that depends on a text only.
func idOf(bytes int, text string) ID {
	sum := sha256.Sum256([]byte("rollmill " + text))
	return sum[:bytes]
}
