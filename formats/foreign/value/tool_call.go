package value

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// ToolCall reads a tool call in one of the forms of ReadCall, or as JSON text.
func ToolCall(v []byte) (t formats.ToolCall, rest jsontext.Object) {
	if len(v) > 0 && v[0] == '"' {
		if v = []byte(jsontext.Unquote(v)); !jsontext.Valid(v) {
			must.Fail("a tool call is %s, not JSON", importers.Brief(v))
		}
		v = v[jsontext.Space(v, 0):]
	}
	must.Object("a tool call", v)
	if t, rest = ReadCall(v, jsontext.AnyText); t.Name == "" {
		must.Fail("a tool call has no function with a name: %s", importers.Brief(v))
	}
	return t, rest
}

// ReadCall reads a call of the chat completions API, or one with the members of its
// function beside its id. rest are the members that a call has no field for; arguments
// is among them, null, if no member has the arguments.
func ReadCall(v []byte, text func([]byte) string) (t formats.ToolCall, rest jsontext.Object) {
	given := false
	var member func(prefix string, key, v []byte)
	member = func(prefix string, key, v []byte) {
		switch string(key) {
		case "arguments", "args", "input", "parameters":
			if !given {
				t.Arguments, given = text(v), true
				return
			}
		case "function":
			if prefix == "" && v[0] == '{' {
				for key, v := range jsontext.Members(v) {
					member("function.", key, v)
				}
				return
			}
			if v[0] == '"' {
				t.Name = jsontext.Unquote(v)
				return
			}
		case "name":
			if v[0] == '"' {
				t.Name = jsontext.Unquote(v)
				return
			}
		case "id":
			if prefix == "" {
				t.ID = ID(v)
				return
			}
		case "type":
			if s := string(v); s == `"function"` || s == `"tool_call"` || s == `"tool_use"` {
				return
			}
		}
		if string(v) != "null" {
			rest = append(rest, jsontext.Member{Key: prefix + string(key), Raw: v})
		}
	}
	for key, v := range jsontext.Members(v) {
		member("", key, v)
	}
	if !given {
		rest = append(rest, jsontext.Member{Key: "arguments", Raw: []byte("null")})
	}
	return t, rest
}

// Rests collects the rests of the calls of a message: an object for each call.
type Rests struct {
	list [][]byte
	some bool
}

// Add adds the rest of the next call.
func (r *Rests) Add(rest jsontext.Object) {
	r.list, r.some = append(r.list, rest.Bytes()), r.some || len(rest) > 0
}

// JSON returns the list of them, nil if they are all empty.
func (r *Rests) JSON() []byte {
	if !r.some {
		return nil
	}
	return Join(r.list)
}
