package otel

import (
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

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
