package art

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// maxCompact is the largest value of an envelope with its texts in their places.
const maxCompact = 256 << 20

// compact returns the groups of a compact envelope (ART 0.5.23), whose texts and keys may
// be references to its table of strings.
func compact(o jsontext.Object) (groups []jsontext.Object) {
	kind, version := must.Text("kind", o.Get("kind")), must.Whole("version", o.Get("version"))
	texts := map[string][]byte{}
	for _, s := range must.Object("strings", o.Get("strings")) {
		texts[s.Key] = s.Raw
	}
	one, group := strings.CutPrefix(kind, "trajectory_group")
	data := expand(nil, o.Get("data"), texts)
	switch {
	case version == nil || *version != 1:
		must.Fail("the version of the envelope is %s; 1 is known", o.Get("version"))
	case one != "" && one != "s" && kind != "trajectory" && kind != "trajectories":
		must.Fail("it holds %q; trajectories and trajectory groups are read: dump those", kind)
	case data == nil:
		must.Fail("its data have more than %d MiB with the texts of its table", maxCompact>>20)
	case data[0] != '[':
		data = slices.Concat([]byte("["), data, []byte("]"))
	}
	for v := range jsontext.Elements(data) {
		if !group {
			v = slices.Concat([]byte(`{"trajectories":[`), v, []byte("]}"))
		}
		groups = append(groups, jsontext.ParseObject(v))
	}
	return groups
}

// expand appends a value with the texts in the places of their references; nil if it
// becomes too large.
func expand(dst, v []byte, texts map[string][]byte) []byte {
	before := len(dst)
	text := func(raw []byte, name string) {
		if t, is := texts[name]; is {
			raw = t
		}
		dst = append(dst, raw...)
	}
	switch {
	case len(v) == 0:
		return append(dst, "null"...)
	case v[0] == '"':
		text(v, jsontext.Unquote(v))
	case v[0] == '[':
		dst = append(dst, '[')
		for e := range jsontext.Elements(v) {
			if dst = expand(dst, e, texts); dst == nil {
				return nil
			}
			dst = append(dst, ',')
		}
		dst = append(closed(dst, before), ']')
	case v[0] == '{':
		dst = append(dst, '{')
		for key, e := range jsontext.Members(v) {
			name := formats.Text(key)
			text(jsontext.AppendText(nil, name), name)
			if dst = expand(append(dst, ':'), e, texts); dst == nil {
				return nil
			}
			dst = append(dst, ',')
		}
		dst = append(closed(dst, before), '}')
	default:
		dst = append(dst, v...)
	}
	if len(dst) > maxCompact {
		return nil
	}
	return dst
}

// closed drops the comma after the last of the values that begin at a place.
func closed(dst []byte, at int) []byte {
	if n := len(dst) - 1; n > at && dst[n] == ',' {
		return dst[:n]
	}
	return dst
}
