package rows

import (
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

type row struct {
	*importers.Record
	values map[string][]byte // by field
	rest   jsontext.Builder  // other columns
}

func (r *row) add(key, v []byte) {
	if string(v) == "null" {
		if string(key) != r.Column("messages") {
			return
		}
		v = []byte("[]") // none
	}
	used := false
	if r.Options != nil {
		for name, c := range r.Map {
			if c == string(key) && !importers.IsRole(name) {
				r.values[name], used = v, true
			}
		}
	}
	if _, mapped := r.Mapped(string(key)); !used && !mapped && known(string(key)) {
		r.values[string(key)], used = v, true
	}
	if !used {
		r.rest.Set(string(key), v)
	}
}

func (r *row) column(name string, read func(v []byte)) {
	defer must.At("column %q", r.Column(name))
	read(r.values[name])
}
