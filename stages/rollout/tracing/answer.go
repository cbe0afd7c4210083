package tracing

import "google.golang.org/protobuf/encoding/protowire"

// partial reads what a collector says of spans that it did not take, from
// ExportTraceServiceResponse.
func partial(answer []byte) (rejected int64, why string) {
	inner, ok := find(answer, 1)
	if !ok {
		return 0, ""
	}
	message, _ := find(inner, 2)
	for len(inner) > 0 {
		n, kind, size := protowire.ConsumeTag(inner)
		if size < 0 {
			break
		}
		inner = inner[size:]
		if n == 1 && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(inner)
			rejected = int64(v)
		}
		if size = protowire.ConsumeFieldValue(n, kind, inner); size < 0 {
			break
		}
		inner = inner[size:]
	}
	return rejected, string(message[:min(len(message), 500)])
}

// find returns a field of bytes.
func find(b []byte, want protowire.Number) ([]byte, bool) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return nil, false
		}
		b = b[size:]
		if n == want && kind == protowire.BytesType {
			v, size := protowire.ConsumeBytes(b)
			return v, size >= 0
		}
		if size = protowire.ConsumeFieldValue(n, kind, b); size < 0 {
			return nil, false
		}
		b = b[size:]
	}
	return nil, false
}
