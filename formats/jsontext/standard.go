package jsontext

import "bytes"

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
