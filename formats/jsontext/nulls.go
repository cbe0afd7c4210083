package jsontext

import "bytes"

// WithoutNulls returns JSON in which no object has a member that is null. Arrow
// and datasets give every object of a column the keys of all others, with null
// for those that a row lacks.
func WithoutNulls(v []byte) []byte {
	if !bytes.Contains(v, []byte("null")) {
		return v
	}
	return appendWithoutNulls(make([]byte, 0, len(v)), v, maxDepth)
}

// appendWithoutNulls copies what is nested deeper than depth as it is.
func appendWithoutNulls(b, v []byte, depth int) []byte {
	switch {
	case depth == 0:
	case v[0] == '{':
		b = append(b, '{')
		first := len(b)
		for i := Space(v, 1); i < len(v) && v[i] == '"'; i = Space(v, i+1) {
			end := Skip(v, i)
			key := v[i:end]
			i = Space(v, Space(v, end)+1)
			end = Skip(v, i)
			if value := v[i:end]; string(value) != "null" {
				if len(b) > first {
					b = append(b, ',')
				}
				b = appendWithoutNulls(append(append(b, key...), ':'), value, depth-1)
			}
			i = Space(v, end)
		}
		return append(b, '}')
	case v[0] == '[':
		b = append(b, '[')
		first := len(b)
		for e := range Elements(v) {
			if len(b) > first {
				b = append(b, ',')
			}
			b = appendWithoutNulls(b, e, depth-1)
		}
		return append(b, ']')
	}
	return append(b, v...)
}
