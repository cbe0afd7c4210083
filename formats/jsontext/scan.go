package jsontext

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"unicode/utf8"
)

// Members yields the keys and values of a valid object; nothing of any other
// value, and what can be told apart of an object that is not valid. A key that is repeated
// comes again: its last value counts.
func Members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		i := Space(b, 0)
		if i >= len(b) || b[i] != '{' {
			return
		}
		for i = Space(b, i+1); i < len(b) && b[i] == '"'; i = Space(b, i+1) {
			end := Skip(b, i)
			key := Key(b[i:end])
			i = Space(b, end)
			i = Space(b, i+1) // the colon
			end = Skip(b, i)
			if end <= i || !yield(key, b[i:end]) {
				return
			}
			if i = Space(b, end); i >= len(b) || b[i] != ',' {
				return
			}
		}
	}
}

// Elements yields the values of a valid array; nothing of any other value.
func Elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := Space(b, 0)
		if i >= len(b) || b[i] != '[' {
			return
		}
		for i = Space(b, i+1); i < len(b) && b[i] != ']'; i = Space(b, i+1) {
			end := Skip(b, i)
			if end == i || !yield(b[i:end]) {
				return
			}
			if i = Space(b, end); i >= len(b) || b[i] != ',' {
				return
			}
		}
	}
}

// Space returns the index of the first byte at or after b[i] that is not white space.
func Space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// ReadKey checks and decodes the key that begins at b[i], and returns its end, or -1. The key is a part of b if possible.
func ReadKey(b []byte, i int) (key []byte, end int) {
	for from := i + 1; i < len(b) && b[i] == '"' && from+8 <= len(b); from += 8 {
		w := binary.LittleEndian.Uint64(b[from:])
		if other := (notPlain(w) | w) & tops; other != 0 {
			if end = from + bits.TrailingZeros64(other)/8; b[end] == '"' {
				return b[i+1 : end], end + 1
			}
			break
		}
	}
	if end = CheckString(b, i); end >= 0 {
		key = Key(b[i:end])
	}
	return key, end
}

// Key decodes a key; the result is a part of b if possible.
func Key(raw []byte) []byte {
	for _, c := range raw { // few bytes, and hardly ever others
		if c == '\\' || c >= utf8.RuneSelf {
			return []byte(Unquote(raw))
		}
	}
	if len(raw) < 2 {
		return []byte(Unquote(raw))
	}
	return raw[1 : len(raw)-1]
}

// Classes of bytes that matter to skip.
const (
	quote = iota + 1
	opens
	closes
	ends // a number or a word, outside of any bracket
)

var classes = [256]byte{'"': quote, '{': opens, '[': opens, '}': closes, ']': closes, ',': ends, ':': ends, ' ': ends,
	'\n': ends, '\t': ends, '\r': ends}

// Skip returns the end of the value that begins at b[i], at most len(b).
func Skip(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch classes[b[i]] {
		case quote:
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case opens:
			depth++
		case closes:
			if depth--; depth < 0 {
				return i // the bracket around a number or a word
			} else if depth == 0 {
				return i + 1
			}
		case ends:
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}

// skipString returns the end of the string that begins at b[i]. Only quotes
// matter, and the backslashes directly before one: an odd number escapes it.
func skipString(b []byte, i int) int {
	from := i + 1
	for i = from; ; i++ {
		n := bytes.IndexByte(b[min(i, len(b)):], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		slash := i
		for slash > from && b[slash-1] == '\\' {
			slash--
		}
		if (i-slash)%2 == 0 {
			return i + 1
		}
	}
}
