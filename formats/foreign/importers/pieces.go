package importers

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// maxBeside bounds each member that the records of one document repeat: those beside their list.
const maxBeside = 64 << 10

// paths returns the columns of --map that may be within other columns, as info.score is.
func (o *Options) paths() []string {
	if o == nil || len(o.Map) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Values(o.Map)), func(column string) bool { return !strings.Contains(column, ".") })
}

// Pieces cuts a row where a path of --map goes through a list of objects, such as
// simulations.messages: each of them is a record, with what is beside the list. lost are
// members that would be too much to repeat.
func (o *Options) Pieces(row []byte) iter.Seq2[[]byte, []string] {
	return func(yield func(piece []byte, lost []string) bool) { pieces(row, nil, o.paths(), yield) }
}

func pieces(row []byte, lost, paths []string, yield func([]byte, []string) bool) bool {
	for _, path := range paths {
		names := strings.Split(path, ".")
		list := row
		for n := range names[:len(names)-1] {
			if list = jsontext.ParseObject(list).Get(names[n]); len(list) == 0 || list[0] != '[' {
				continue
			}
			out := slices.Clip(lost)
			before, after, _ := bytes.Cut(with(row, names[:n+1], here, &out), here)
			for e := range jsontext.Elements(list) {
				if !pieces(slices.Concat(before, e, after), out, paths, yield) {
					return false
				}
			}
			return true
		}
	}
	return yield(row, lost)
}

// here is a place in a text: no JSON has such a byte.
var here = []byte{0}

// with returns an object with another value at a path.
func with(object []byte, path []string, v []byte, lost *[]string) []byte {
	if len(path) == 0 {
		return v
	}
	var out jsontext.Object
	for _, m := range jsontext.ParseObject(object) {
		if m.Key == path[0] {
			m.Raw = with(m.Raw, path[1:], v, lost)
		} else if len(m.Raw) > maxBeside {
			*lost = append(*lost, m.Key)
			continue
		}
		out = append(out, m)
	}
	return out.Bytes()
}

// lift makes what the paths name columns of their own.
func lift(row []byte, paths []string) []byte {
	for _, path := range paths {
		o := jsontext.ParseObject(row)
		if o == nil || o.Get(path) != nil {
			continue
		}
		if v := take(&o, strings.Split(path, ".")); v != nil {
			o.Set(path, v)
			row = o.Bytes()
		}
	}
	return row
}

// take takes a member out of an object; nil if it is not there.
func take(o *jsontext.Object, path []string) []byte {
	v := o.Get(path[0])
	if len(path) == 1 {
		o.Drop(path[0])
		return v
	}
	inner := jsontext.ParseObject(v)
	if v = take(&inner, path[1:]); v != nil {
		o.Set(path[0], inner.Bytes())
	}
	return v
}
