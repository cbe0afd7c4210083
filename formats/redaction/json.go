package redaction

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// strings redacts the strings, keys and numbers of a JSON text. Everything else
// stays byte for byte. ok is false when the text is not JSON.
func (r *Rules) strings(text string, c *Counts) (out string, ok bool) {
	raw := []byte(text)
	if !json.Valid(raw) {
		return text, false
	}
	e := editor{in: text, raw: raw, text: func(value string) string { return r.text(value, c) },
		number: func(value string) (string, bool) {
			spans := r.spans(value)
			return replace(value, spans, c), len(spans) > 0
		}}
	return e.run(nil), true
}

// edit replaces or removes values of a JSON text.
type edit struct {
	path   []string // keys, and indexes of lists; "*" for all
	put    string   // the JSON text that replaces the value
	remove bool     // the value goes, and its key
	done   func()
}

// apply makes edits to a JSON text. It returns the same text when none applies,
// or when it is not JSON.
func apply(text string, edits []edit) string {
	if len(edits) == 0 {
		return text
	}
	raw := []byte(text)
	if !json.Valid(raw) {
		return text
	}
	e := editor{in: text, raw: raw}
	return e.run(edits)
}

// editor copies a valid JSON text with changes. Without its functions, strings
// and numbers are copied.
type editor struct {
	in      string
	raw     []byte // in
	at      int
	out     []byte
	changed bool
	text    func(string) string
	number  func(string) (string, bool)
}

func (e *editor) run(edits []edit) string {
	e.out = append(e.out, e.space()...)
	e.value(edits)
	if !e.changed {
		return e.in
	}
	return string(append(e.out, e.in[e.at:]...))
}

func (e *editor) space() string {
	from := e.at
	e.at = jsontext.Space(e.raw, from)
	return e.in[from:e.at]
}

// value copies a value. The edits are those of values below it.
func (e *editor) value(edits []edit) {
	from := e.at
	switch c := e.in[e.at]; {
	case c == '{':
		e.members(edits, '}')
	case c == '[':
		e.members(edits, ']')
	case c == '"':
		e.string()
	default:
		e.skip()
		text := e.in[from:e.at]
		if e.number != nil && (c == '-' || isDigit(c)) {
			if put, found := e.number(text); found {
				e.out, e.changed = jsontext.AppendString(e.out, put), true
				return
			}
		}
		e.out = append(e.out, text...)
	}
}

// string copies a string, and returns its value before it was redacted.
func (e *editor) string() string {
	from := e.at
	e.skip()
	raw := e.in[from:e.at]
	value := raw[1 : len(raw)-1]
	if strings.IndexByte(value, '\\') >= 0 {
		value = jsontext.Unquote(e.raw[from:e.at])
	}
	if e.text != nil {
		if put := e.text(value); put != value {
			e.out, e.changed = jsontext.AppendString(e.out, put), true
			return value
		}
	}
	e.out = append(e.out, raw...)
	return value
}

// members copies the members of an object or list.
func (e *editor) members(edits []edit, end byte) {
	e.out = append(e.out, e.in[e.at])
	e.at++
	kept := 0
	for n := 0; ; n++ {
		space := e.space()
		if e.in[e.at] == end {
			e.out = append(append(e.out, space...), end)
			e.at++
			return
		}
		from := len(e.out)
		if e.in[e.at] == ',' {
			if e.at++; kept > 0 {
				e.out = append(append(e.out, space...), ',')
			}
			space = e.space()
		}
		e.out = append(e.out, space...)
		if e.member(edits, end == '}', n) {
			kept++
			continue
		}
		e.out = e.out[:from]
	}
}

// member copies a member, and reports whether it is kept.
func (e *editor) member(edits []edit, object bool, n int) bool {
	key := strconv.Itoa(n)
	if object {
		key = e.string()
		space := e.space()
		e.at++
		e.out = append(append(append(e.out, space...), ':'), e.space()...)
	}
	var below []edit
	for _, x := range edits {
		if x.path[0] != "*" && x.path[0] != key {
			continue
		}
		if len(x.path) == 1 {
			from := e.at
			e.skip()
			if e.out = append(e.out, x.put...); x.remove || e.in[from:e.at] != x.put {
				e.changed = true
				x.done()
			}
			return !x.remove
		}
		x.path = x.path[1:]
		below = append(below, x)
	}
	e.value(below)
	return true
}

// skip moves past a value.
func (e *editor) skip() { e.at = jsontext.Skip(e.raw, e.at) }
