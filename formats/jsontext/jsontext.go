// Package jsontext reads and writes JSON as text: it finds the spans of values
// without decoding them, so that a large text is read at the speed of memory and
// its parts keep their bytes (Skip, Members, ParseObject, Reading); and it appends
// values for people to read, with <, > and & unescaped, where json.Marshal escapes
// them for HTML (Append), and the numbers of float columns as 1.0, never 1, because
// loaders infer a column's type from the first block of a file (AppendNumber).
// Python's NaN, Infinity and -Infinity are values.
package jsontext

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Raw is JSON text, which is written as it is: json.RawMessage, for columns.
type Raw string

func (r Raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// UnmarshalJSON keeps the text.
func (r *Raw) UnmarshalJSON(data []byte) error {
	*r = Raw(data)
	return nil
}

// Append appends a value on one line, without a line end.
func Append(dst []byte, v any) ([]byte, error) {
	dst, err := AppendLine(dst, v)
	if err != nil {
		return dst, err
	}
	return dst[:len(dst)-1], nil
}

// AppendLine appends a value and a line end.
func AppendLine(dst []byte, v any) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.Bytes(), err
}

// AppendString appends a string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if plain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	dst, _ = Append(dst, s) // a string can always be encoded
	return dst
}

// plain reports whether no character of a string needs an escape.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
