package importers

import (
	"bytes"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
)

// withhold takes what has the name of a secret out of the metadata of a row and out of
// the parameters of its calls, at every depth, and counts it.
func (r *Record) withhold(t *formats.Trajectory) {
	r.withholdIn(&t.Metadata)
	for i := range t.Calls {
		r.withholdIn(&t.Calls[i].Sampling)
	}
}

func (r *Record) withholdIn(text *string) {
	v, before := formats.Bytes(*text), r.Withheld
	if !hides(v) {
		return
	}
	if out := r.open(nil, v, maxWithin); r.Withheld > before {
		*text = string(out)
	}
}

// hides reports whether JSON may have a member with the name of a secret, also in a text of JSON.
func hides(v []byte) bool {
	for i := bytes.IndexByte(v, '"'); i >= 0 && i < len(v); {
		end := jsontext.Skip(v, i)
		next := jsontext.Space(v, end)
		if next < len(v) && v[next] == ':' {
			if secret.Names(formats.Text(jsontext.Key(v[i:end]))) {
				return true
			}
		} else if isText(v[i:end]) && hides(formats.Bytes(jsontext.Unquote(v[i:end]))) {
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
func (r *Record) open(b, v []byte, depth int) []byte {
	first := len(b) + 1
	switch {
	case depth == 0:
	case v[0] == '{':
		b = append(b, '{')
		for key, inner := range jsontext.Members(v) {
			name := formats.Text(key)
			if secret.Member(name, inner) && !(name == "token" && bytes.Contains(v, []byte(`"logprob"`))) {
				r.Withheld++
				continue
			}
			if len(b) > first {
				b = append(b, ',')
			}
			b = r.open(append(jsontext.AppendString(b, name), ':'), inner, depth-1)
		}
		return append(b, '}')
	case v[0] == '[':
		b = append(b, '[')
		for inner := range jsontext.Elements(v) {
			if len(b) > first {
				b = append(b, ',')
			}
			b = r.open(b, inner, depth-1)
		}
		return append(b, ']')
	case isText(v):
		before := r.Withheld
		if inner := []byte(jsontext.Unquote(v)); jsontext.Valid(inner) {
			if out := r.open(nil, inner, depth-1); r.Withheld > before {
				return append(b, Quote(string(out))...)
			}
		}
	}
	return append(b, v...)
}
