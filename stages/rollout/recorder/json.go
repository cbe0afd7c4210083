package recorder

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"
)

// The functions of this file find the spans of values in JSON that is known to
// be valid. They decode nothing, so a large answer is read at the speed of
// memory and the forwarded parts keep their bytes.

// object is a JSON object with its members in order.
type object []member

type member struct {
	key string
	raw []byte
}

// parseObject splits a valid JSON object; nil for any other value.
func parseObject(b []byte) object {
	var o object
	for k, v := range members(b) {
		o = append(o, member{string(k), v})
	}
	return o
}

func (o object) get(key string) []byte {
	for i := range o {
		if o[i].key == key {
			return o[i].raw
		}
	}
	return nil
}

// has reports whether a key is present with a value other than null.
func (o object) has(key string) bool {
	raw := o.get(key)
	return raw != nil && string(raw) != "null"
}

func (o *object) set(key string, raw []byte) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].raw = raw
			return
		}
	}
	*o = append(*o, member{key, raw})
}

// drop removes a key and reports whether it was present.
func (o *object) drop(key string) bool {
	kept := (*o)[:0]
	for _, m := range *o {
		if m.key != key {
			kept = append(kept, m)
		}
	}
	gone := len(kept) < len(*o)
	*o = kept
	return gone
}

func (o object) bytes() []byte {
	size := 2
	for _, m := range o {
		size += len(m.key) + len(m.raw) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(m.key)
		out = append(append(append(out, key...), ':'), m.raw...)
	}
	return append(out, '}')
}

// members yields the keys and values of a valid object; nothing of any other value.
func members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		i := space(b, 0)
		if i >= len(b) || b[i] != '{' {
			return
		}
		for i = space(b, i+1); i < len(b) && b[i] == '"'; i = space(b, i+1) {
			end := skip(b, i)
			key := keyOf(b[i:end])
			i = space(b, end)
			i = space(b, i+1) // the colon
			end = skip(b, i)
			if end > len(b) || !yield(key, b[min(i, end):end]) {
				return
			}
			if i = space(b, end); i >= len(b) || b[i] != ',' {
				return
			}
		}
	}
}

// elements yields the values of a valid array; nothing of any other value.
func elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := space(b, 0)
		if i >= len(b) || b[i] != '[' {
			return
		}
		for i = space(b, i+1); i < len(b) && b[i] != ']'; i = space(b, i+1) {
			end := skip(b, i)
			if !yield(b[i:end]) {
				return
			}
			if i = space(b, end); i >= len(b) || b[i] != ',' {
				return
			}
		}
	}
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// keyOf decodes a key; the result is a part of b if possible.
func keyOf(raw []byte) []byte {
	if len(raw) >= 2 && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw[1 : len(raw)-1]
	}
	return []byte(unquote(raw))
}

// Classes of bytes that matter to skip.
const (
	quote = iota + 1
	opens
	closes
	ends // a number or a word, outside of any bracket
)

var classes = [256]byte{'"': quote, '{': opens, '[': opens, '}': closes, ']': closes, ',': ends, ':': ends, ' ': ends, '\n': ends, '\t': ends, '\r': ends}

// skip returns the end of the value that begins at b[i], at most len(b).
func skip(b []byte, i int) int {
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

func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(b)
}

// unquote decodes a JSON string; "" for any other value.
func unquote(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func isTrue(raw []byte) bool { return string(raw) == "true" }

// compact returns valid JSON without space between its parts.
func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}
