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
	if !secret.MayHave(*text) {
		return
	}
	before := r.Withheld
	if out := r.open(nil, []byte(*text), maxWithin); r.Withheld > before {
		*text = string(out)
	}
}

// open appends a valid value without what is withheld. A token beside its logprob is no
// secret.
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
	case len(v) > 2 && v[0] == '"' && (v[1] == '{' || v[1] == '['):
		before := r.Withheld
		if inner := []byte(jsontext.Unquote(v)); jsontext.Valid(inner) {
			if out := r.open(nil, inner, depth-1); r.Withheld > before {
				return append(b, Quote(string(out))...)
			}
		}
	}
	return append(b, v...)
}
