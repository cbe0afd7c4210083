package otel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Request is a request to a collector: spans of one resource. It is encoded as JSON or by Protobuf.
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

// Protobuf returns the request as Protobuf, the encoding that every receiver of OTLP
// must read. The numbers are those of opentelemetry-proto, whose fields never
// change their number.
func (r Request) Protobuf() []byte {
	spans := field(nil, 1, field(nil, 1, []byte(service))) // scope.name
	for i := range r.Spans {
		spans = field(spans, 2, r.Spans[i].protobuf())
	}
	of := field(nil, 1, appendAttributes(nil, 1, r.resource()))
	return field(nil, 1, field(of, 2, spans))
}

func (s *Span) protobuf() []byte {
	b := field(nil, 1, s.TraceID)
	b = field(b, 2, s.SpanID)
	if s.ParentID != nil {
		b = field(b, 4, s.ParentID)
	}
	b = field(b, 5, valid(s.Name))
	b = varint(b, 6, uint64(s.Kind))
	b = fixed(b, 7, uint64(s.Start))
	b = fixed(b, 8, uint64(s.End))
	b = appendAttributes(b, 9, s.Attributes)
	for _, e := range s.Events {
		event := field(fixed(nil, 1, uint64(e.Time)), 2, valid(e.Name))
		b = field(b, 11, appendAttributes(event, 3, e.Attributes))
	}
	if s.Status != nil {
		b = field(b, 15, varint(field(nil, 2, valid(s.Status.Message)), 3, uint64(s.Status.Code)))
	}
	return b
}

func appendAttributes(b []byte, n protowire.Number, list []Attribute) []byte {
	for _, a := range list {
		b = field(b, n, field(field(nil, 1, valid(a.Key)), 2, protoValue(a.Value)))
	}
	return b
}

func protoValue(v any) []byte {
	switch v := v.(type) {
	case string:
		return field(nil, 1, valid(v))
	case bool:
		return varint(nil, 2, protowire.EncodeBool(v))
	case int64:
		return varint(nil, 3, uint64(v))
	case float64:
		return fixed(nil, 4, math.Float64bits(v))
	}
	var values []byte
	for _, s := range v.([]string) {
		values = field(values, 1, protoValue(s))
	}
	return field(nil, 5, values)
}

// valid returns a text as UTF-8, which strings of Protobuf must be.
func valid(s string) []byte { return []byte(strings.ToValidUTF8(s, "\uFFFD")) }

func field(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func varint(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func fixed(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), v)
}
