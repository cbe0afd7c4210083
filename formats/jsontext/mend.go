package jsontext

import (
	"bytes"
	"strings"
)

// Mend returns a line of JSON that another program wrote with null for each number
// that JSON does not have: NaN and infinities, as several languages' libraries write
// them. lost names the fields that lost their value, by the keys that lead to them.
func Mend(line []byte) (clean []byte, lost []string) {
	clean, n := Standard(line, "-NaN")
	if n == 0 {
		return line, nil
	}
	var r Reading
	r.Value(bytes.ReplaceAll(line, []byte("-NaN"), []byte(" NaN")))
	for _, l := range r.Lost {
		if strings.HasSuffix(l.Why, noNumber) {
			lost = append(lost, l.Path)
		}
	}
	if lost == nil {
		lost = []string{"a value"} // of what is no JSON otherwise
	}
	return clean, lost
}

// Foreign is Unmarshal of a line that another program wrote, after Mend.
func Foreign(line []byte, v any) (lost []string, err error) {
	clean, lost := Mend(line)
	return lost, Unmarshal(clean, v)
}
