package jsontext

import (
	"bytes"
	"strings"
)

// Standard replaces numbers that JSON does not have by null: Python's NaN,
// Infinity and -Infinity, and the words of more. Strings keep them. It returns
// how many it replaced, and b itself when there were none.
func Standard(b []byte, more ...string) (out []byte, replaced int) {
	if !bytes.Contains(b, []byte("NaN")) && !bytes.Contains(b, []byte("Infinity")) {
		return b, 0
	}
	from := 0
	for i := 0; i < len(b); {
		if b[i] == '"' {
			i = skipString(b, i)
		} else if n := NotANumber(b[i:], more...); n > 0 {
			out = append(append(out, b[from:i]...), "null"...)
			i += n
			from, replaced = i, replaced+1
		} else {
			i++
		}
	}
	if replaced == 0 {
		return b, 0
	}
	return append(out, b[from:]...), replaced
}

// NotANumber returns the length of the word at the beginning of b if it is one
// that Standard replaces, else 0.
func NotANumber(b []byte, more ...string) int {
	for _, words := range [][]string{{"NaN", "Infinity", "-Infinity"}, more} {
		for _, word := range words {
			if bytes.HasPrefix(b, []byte(word)) {
				return len(word)
			}
		}
	}
	return 0
}

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
