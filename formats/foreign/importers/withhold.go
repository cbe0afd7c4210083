package importers

import (
	"bytes"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
)

// withhold takes what has the name of a secret out of the metadata of a row and out of
// the parameters of its calls, at every depth, and counts it; of a log also what holds an end
// user's id, name or address, which the item keeps for grouping.
func (r *Record) withhold(x *Item) {
	t, before := &x.Row, x.Row.Metadata
	r.withholdIn(&t.Metadata, scope{})
	if r.log && t.Metadata != before {
		x.Whole = before
	}
	for i := range t.Calls {
		r.withholdIn(&t.Calls[i].Sampling, scope{before: "request."})
	}
	if r.log {
		r.withholdIn(&t.Example, scope{})
		for i := range t.Candidates {
			r.withholdIn(&t.Candidates[i].Metadata, scope{})
		}
	}
}

func (r *Record) withholdIn(text *string, at scope) {
	v, before := formats.Bytes(*text), r.taken
	if !r.hides(v, at) {
		return
	}
	if out := r.open(nil, v, maxWithin, at); r.taken > before {
		*text = string(out)
	}
}

// hides reports whether JSON may have a member that is withheld, also in a text of JSON.
func (r *Record) hides(v []byte, at scope) bool {
	for i := bytes.IndexByte(v, '"'); i >= 0 && i < len(v); {
		end := jsontext.Skip(v, i)
		next := jsontext.Space(v, end)
		if next < len(v) && v[next] == ':' {
			name := formats.Text(jsontext.Key(v[i:end]))
			if secret.Names(name) || r.log && ofEndUser.Of(at.before+name) {
				return true
			}
		} else if isText(v[i:end]) && r.hides(formats.Bytes(jsontext.Unquote(v[i:end])), at) {
			return true
		}
		if i = end + bytes.IndexByte(v[end:], '"'); i < end {
			break
		}
	}
	return false
}

// isText reports whether a value is a text that may be JSON.
func isText(v []byte) bool {
	return len(v) > len(`"{}"`) && v[0] == '"' && (v[1] == '{' || v[1] == '[')
}

// open appends a valid value without what is withheld. A token beside its logprob is no secret.
func (r *Record) open(b, v []byte, depth int, at scope) []byte {
	first := len(b) + 1
	switch {
	case depth == 0:
	case v[0] == '{':
		b = append(b, '{')
		for key, inner := range jsontext.Members(v) {
			name := formats.Text(key)
			below, named := r.below(at, name, inner)
			switch {
			case named && !below.kept && below.before == "":
				r.LeftOut[strings.Clone(name)]++
				r.taken++
				continue
			case !named && secret.Member(name, inner) && !(name == "token" && bytes.Contains(v, []byte(`"logprob"`))):
				r.Withheld++
				r.taken++
				continue
			}
			if len(b) > first {
				b = append(b, ',')
			}
			b = r.open(append(jsontext.AppendString(b, name), ':'), inner, depth-1, below)
		}
		return append(b, '}')
	case v[0] == '[':
		b = append(b, '[')
		for inner := range jsontext.Elements(v) {
			if len(b) > first {
				b = append(b, ',')
			}
			b = r.open(b, inner, depth-1, at)
		}
		return append(b, ']')
	case isText(v):
		before := r.taken
		if inner := []byte(jsontext.Unquote(v)); jsontext.Valid(inner) {
			if out := r.open(nil, inner, depth-1, at); r.taken > before {
				return append(b, Quote(string(out))...)
			}
		}
	}
	return append(b, v...)
}
