package importers

import (
	"bytes"
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// span is a member within a text: from its key, or from its value.
type span struct{ key, value, end int }

func splice(b []byte, from, to int, by []byte) []byte { return slices.Concat(b[:from], by, b[to:]) }

// without returns a text without a member.
func without(b []byte, s span) []byte {
	if next := jsontext.Space(b, s.end); next < len(b) && b[next] == ',' {
		return splice(b, s.key, next+1, nil)
	}
	if before := bytes.TrimRight(b[:s.key], " \n\t\r"); bytes.HasSuffix(before, []byte(",")) {
		return splice(b, len(before)-1, s.end, nil)
	}
	return splice(b, s.key, s.end, nil)
}

// other returns another value of the same type.
func other(v []byte) []byte {
	switch {
	case v[0] == '"':
		return append(v[:len(v)-1:len(v)-1], `x"`...)
	case v[0] == 't':
		return []byte("false")
	case v[0] == 'f':
		return []byte("true")
	case v[0] == '{' || v[0] == '[':
		return []byte(`"x"`)
	case string(v) == "7":
		return []byte("8")
	}
	return []byte("7")
}
