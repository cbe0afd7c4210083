package jsontext

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// Object is a JSON object with its members in order.
type Object []Member

// Member is a member of an object; Raw is its value's text.
type Member struct {
	Key string
	Raw []byte
}

// ParseObject splits a valid JSON object; nil for any other value. A key that is
// repeated has its last value, as in Python.
func ParseObject(b []byte) Object {
	var built Builder
	for k, v := range Members(b) {
		built.Set(string(k), v)
	}
	return built.Object
}

// Get returns the value of a key, nil when it is missing.
func (o Object) Get(key string) []byte {
	for i := range o {
		if o[i].Key == key {
			return o[i].Raw
		}
	}
	return nil
}

// Has reports whether a key is present with a value other than null.
func (o Object) Has(key string) bool {
	raw := o.Get(key)
	return raw != nil && string(raw) != "null"
}

// Set replaces the value of a key, or appends it.
func (o *Object) Set(key string, raw []byte) {
	for i := range *o {
		if (*o)[i].Key == key {
			(*o)[i].Raw = raw
			return
		}
	}
	*o = append(*o, Member{key, raw})
}

// With returns a copy in which a key, if present, has another value.
func (o Object) With(key string, raw []byte) Object {
	o = slices.Clone(o)
	if o.Get(key) != nil {
		o.Set(key, raw)
	}
	return o
}

// Drop removes a key and reports whether it was present.
func (o *Object) Drop(key string) bool {
	kept := (*o)[:0]
	for _, m := range *o {
		if m.Key != key {
			kept = append(kept, m)
		}
	}
	gone := len(kept) < len(*o)
	*o = kept
	return gone
}

func (o Object) Bytes() []byte {
	size := 2
	for _, m := range o {
		size += len(m.Key) + len(m.Raw) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(AppendString(out, m.Key), ':'), m.Raw...)
	}
	return append(out, '}')
}

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

func IsTrue(raw []byte) bool { return string(raw) == "true" }

// Compact returns valid JSON without space between its parts.
func Compact(raw []byte) string {
	if !Valid(raw) {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	var b strings.Builder
	b.Grow(len(raw))
	WriteCompact(&b, raw)
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// AnyText returns the content of a string, "" for null and for no value, and any
// other value as compact JSON, such as arguments of a tool call, which some
// programs store as a value and others as text.
func AnyText(v []byte) string {
	if len(v) == 0 || string(v) == "null" || v[0] == '"' {
		return Unquote(v)
	}
	return Compact(v)
}

// WriteCompact writes JSON that is known to be valid without space between its parts.
func WriteCompact(b *strings.Builder, raw []byte) {
	from := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
		case ' ', '\n', '\t', '\r':
			b.Write(raw[from:i])
			i = Space(raw, i)
			from = i
		default:
			i++
		}
	}
	b.Write(raw[min(from, len(raw)):])
}
