package jsontext

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
)

// MaxDepth is the limit of nested lists, as in encoding/json.
const MaxDepth = 10000

// Valid reports whether b is exactly one JSON value.
func Valid(b []byte) bool {
	end := CheckValue(b, Space(b, 0), 0)
	return end >= 0 && Space(b, end) == len(b)
}

// Each calls f with the keys and values of an object, and checks it as it goes:
// when it returns an error, b is not an object, or not JSON, and f was called
// for the beginning only. A key that is repeated comes again: its last value
// counts, as in Python.
func Each(b []byte, f func(key, value []byte)) error { return (*Reading)(nil).each(b, f) }

func (r *Reading) each(b []byte, f func(key, value []byte)) error {
	i := Space(b, 0)
	switch {
	case i == len(b) || b[i] != '{' && !Valid(b):
		return invalid(b)
	case b[i] != '{':
		return errNoObject
	}
	i = Space(b, i+1)
	r.open()
	for more := !(i < len(b) && b[i] == '}'); more; {
		end := CheckString(b, i)
		if end < 0 {
			return invalid(b)
		}
		key := Key(b[i:end])
		if !r.key(b, i, end) {
			return r.Refused
		}
		if i = Space(b, end); i >= len(b) || b[i] != ':' {
			return invalid(b)
		}
		i = Space(b, i+1)
		if end = r.check(b, i, 1); end < 0 && r != nil && r.Refused != nil {
			return r.Refused
		} else if end < 0 {
			return invalid(b)
		}
		f(key, b[i:end])
		if i = Space(b, end); i < len(b) && b[i] == ',' {
			i = Space(b, i+1)
		} else {
			more = false
		}
	}
	r.close()
	if i >= len(b) || b[i] != '}' || Space(b, i+1) != len(b) {
		return invalid(b)
	}
	return nil
}

var errNoObject = errors.New("it is JSON, but not an object")

// invalid returns what encoding/json says about JSON that is not valid.
func invalid(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	return errors.New("it is not JSON")
}

// CheckValue returns the end of the JSON value that begins at b[i], or -1 when there is none.
func CheckValue(b []byte, i, depth int) int { return (*Reading)(nil).check(b, i, depth) }

func (r *Reading) check(b []byte, i, depth int) int {
	if i >= len(b) || depth > MaxDepth {
		return -1
	}
	switch b[i] {
	case '"':
		return CheckString(b, i)
	case '{':
		return r.object(b, i, depth)
	case '[':
		return r.array(b, i, depth)
	case 't':
		return checkWord(b, i, "true")
	case 'f':
		return checkWord(b, i, "false")
	case 'n':
		return checkWord(b, i, "null")
	case 'N':
		return r.number(b, i, checkWord(b, i, "NaN"))
	case 'I':
		return r.number(b, i, checkWord(b, i, "Infinity"))
	case '-':
		if i+1 < len(b) && b[i+1] == 'I' {
			return r.number(b, i, CheckNumber(b, i))
		}
	}
	return CheckNumber(b, i)
}

func checkWord(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

func (r *Reading) object(b []byte, i, depth int) int {
	i = Space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	r.open()
	for {
		from := i
		if i = CheckString(b, i); i < 0 {
			return -1
		}
		if r != nil && !r.key(b, from, i) {
			return -1
		}
		if i = Space(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = r.check(b, Space(b, i+1), depth+1); i < 0 {
			return -1
		}
		if i = Space(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case '}':
			r.close()
			return i + 1
		case ',':
			i = Space(b, i+1)
		default:
			return -1
		}
	}
}

func (r *Reading) array(b []byte, i, depth int) int {
	i = Space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		for i < len(b) && b[i]-'1' < 9 && depth < MaxDepth { // whole numbers, in the longest lists
			end := i + 1
			for end < len(b) && b[end]-'0' <= 9 {
				end++
			}
			if end == len(b) || b[end] != ',' {
				break
			}
			i = Space(b, end+1)
		}
		i = r.check(b, i, depth+1)
		if i < 0 {
			return -1
		}
		if i = Space(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ']':
			return i + 1
		case ',':
			i = Space(b, i+1)
		default:
			return -1
		}
	}
}

// CheckString returns the end of the string that begins at b[i], or -1.
func CheckString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i = plainBytes(b, i+1); i < len(b); i = plainBytes(b, i+1) {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return -1
			}
			i += n - 1
		case c < ' ':
			return -1
		}
	}
	return -1
}

// plainBytes skips bytes that need no escape, eight at a time: it returns the
// index of the first other byte, or of the last few bytes.
func plainBytes(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if other := notPlain(binary.LittleEndian.Uint64(b[i:])) & tops; other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
	}
	return i
}

const ones, tops = 0x0101010101010101, 0x8080808080808080

// notPlain sets the top bit of the first byte that needs an escape, of eight, and perhaps of bytes after it.
func notPlain(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return (w-ones*0x20)&^w | (quote-ones)&^quote | (slash-ones)&^slash
}

// escape returns the length of the escape at the beginning of b, or 0.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// CheckNumber returns the end of the number that begins at b[i], or -1.
func CheckNumber(b []byte, i int) int {
	if b[i] == '-' {
		if i++; i < len(b) && b[i] == 'I' {
			return checkWord(b, i, "Infinity")
		}
	}
	from := i
	if i = digits(b, i); i == from || b[from] == '0' && i > from+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = digits(b, from); i == from {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		if i = digits(b, i); i == from {
			return -1
		}
	}
	return i
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}
