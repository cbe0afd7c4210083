package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// start gives a conversation the system prompt, the tools and the model of the row.
func (r *row) start(c *Reader) {
	c.Record = r.Record
	if r.has(tools) {
		definitions, err := value.ChatTools(r.Sparse(r.take(tools)))
		if err != nil {
			must.Fail("column %q: %w", r.name(tools), err)
		}
		c.Offer(definitions)
	}
	c.Call.Model = r.text(model)
	r.version(&c.Call)
	if v := r.columns[parallelToolCalls].value; string(v) == "true" || string(v) == "false" {
		c.Call.Sampling = `{"parallel_tool_calls":` + string(r.take(parallelToolCalls)) + "}"
	}
	if r.has(system) {
		v := r.take(system)
		if v[0] != '"' {
			must.Fail("column %q is %s, not text", r.name(system), importers.Brief(v))
		}
		c.System = jsontext.Unquote(v)
	}
}

// version sets the policy's version, which is a whole number.
func (r *row) version(call *formats.Call) {
	if !r.has(policyVersion) {
		return
	}
	v := r.take(policyVersion)
	n, err := strconv.ParseInt(strings.TrimSuffix(value.Scalar(v), ".0"), 10, 64)
	if err != nil {
		must.Fail("column %q is %s, not a whole number", r.name(policyVersion), importers.Brief(v))
	}
	call.PolicyVersion = &n
}

// begin starts a conversation with the messages of a field.
func (r *row) begin(c *Reader, f field, sampled bool) {
	r.start(c)
	r.append(c, f, sampled)
}

// append adds the messages of a field, or its text as one.
func (r *row) append(c *Reader, f field, sampled bool) {
	list, plain := r.listOf(f)
	switch {
	case list != nil:
		defer r.in(f)
		c.Add(list, sampled)
	case f == messages:
		must.Fail("column %q is the text %s, not a list of messages", r.name(f), importers.Brief([]byte(plain)))
	case sampled:
		c.AddText("assistant", plain, true)
	default:
		c.AddText("user", plain, false)
	}
}

func (r *row) listOf(f field) (list []byte, plain string) {
	defer r.in(f)
	return listOf(r.Record, r.take(f))
}

// listOf returns a list of messages, of which one message and JSON text with
// either are other forms; else it is text, and the list is nil.
func listOf(r *importers.Record, v []byte) (list []byte, plain string) {
	switch v[0] {
	case '[':
		return v, ""
	case '{':
		return slices.Concat([]byte("["), v, []byte("]")), ""
	case '"':
		plain = jsontext.Unquote(v)
		if inner := strings.TrimSpace(plain); strings.HasPrefix(inner, "[") {
			var reading jsontext.Reading
			if list, ok := reading.Value([]byte(inner)); ok && (string(list) == "[]" || isMessages(list)) {
				r.LoseAll(reading.Lost)
				return list, ""
			}
			if reading.Refused != nil {
				importers.Refuse(reading.Refused)
			}
		}
		return nil, plain
	}
	must.Fail("it is %s, neither messages nor text", importers.Brief(v))
	return nil, ""
}
