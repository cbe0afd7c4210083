package otel

import "google.golang.org/protobuf/encoding/protowire"

// Rejected reads what a collector says of spans that it did not take, from ExportTraceServiceResponse.
func Rejected(answer []byte) (rejected int64, why string) {
	inner, _ := protowire.ConsumeBytes(find(answer, 1, protowire.BytesType))
	count, _ := protowire.ConsumeVarint(find(inner, 1, protowire.VarintType))
	message, _ := protowire.ConsumeBytes(find(inner, 2, protowire.BytesType))
	return int64(count), string(message[:min(len(message), 500)])
}

// find returns the encoded value of a field of this type; nil if there is none.
func find(b []byte, want protowire.Number, as protowire.Type) []byte {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return nil
		}
		b = b[size:]
		if size = protowire.ConsumeFieldValue(n, kind, b); size < 0 {
			return nil
		}
		if n == want && kind == as {
			return b[:size]
		}
		b = b[size:]
	}
	return nil
}
