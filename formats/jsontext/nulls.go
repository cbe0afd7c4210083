package jsontext

import "bytes"

// WithoutNulls returns JSON in which no object has a member that is null. Arrow
// and datasets give every object of a column the keys of all others, with null
// for those that a row lacks.
func WithoutNulls(v []byte) []byte { return DropNulls(v, new(int64)) }

// DropNulls is WithoutNulls, and counts the members that it leaves out.
func DropNulls(v []byte, dropped *int64) []byte {
	if !bytes.Contains(v, []byte("null")) {
		return v
	}
	return appendWithoutNulls(make([]byte, 0, len(v)), v, maxDepth, dropped)
}

// appendWithoutNulls copies what is nested deeper than depth as it is.
func appendWithoutNulls(b, v []byte, depth int, dropped *int64) []byte {
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
				b = appendWithoutNulls(append(append(b, key...), ':'), value, depth-1, dropped)
			} else {
				*dropped++
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
			b = appendWithoutNulls(b, e, depth-1, dropped)
		}
		return append(b, ']')
	}
	return append(b, v...)
}
