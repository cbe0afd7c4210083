package otel

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// node is a value whose parts have names with dots, such as
// llm.input_messages.0.message.role. Lists and objects are parts in the same way,
// so that every form of an attribute reads alike.
type node struct {
	raw  []byte // of a value that is neither a list nor an object
	kids map[string]*node
}

// under returns the node of the attributes that begin with a name; nil without any.
func under(attrs jsontext.Object, name string) *node {
	var n *node
	for _, f := range attrs {
		rest, is := strings.CutPrefix(f.Key, name)
		if !is || rest != "" && rest[0] != '.' {
			continue
		}
		if n == nil {
			n = &node{}
		}
		n.at(strings.TrimPrefix(rest, ".")).set(f.Raw, 0)
	}
	return n
}

// at returns the node at a path; it is made if need be.
func (n *node) at(path string) *node {
	for depth := 0; path != ""; depth++ {
		name, rest, _ := strings.Cut(path, ".")
		if depth == maxDepth {
			name, rest = path, ""
		}
		path = rest
		if n.kids == nil {
			n.kids = map[string]*node{}
		}
		if n.kids[name] == nil {
			n.kids[name] = &node{}
		}
		n = n.kids[name]
	}
	return n
}

func (n *node) set(v []byte, depth int) {
	switch {
	case depth < 32 && len(v) > 0 && v[0] == '{':
		for key, v := range jsontext.Members(v) {
			n.at(string(key)).set(v, depth+1)
		}
	case depth < 32 && len(v) > 0 && v[0] == '[':
		i := 0
		for v := range jsontext.Elements(v) {
			n.at(strconv.Itoa(i)).set(v, depth+1)
			i++
		}
	case string(v) != "null":
		n.raw = v
	}
}

// get returns a part; nil when it is missing.
func (n *node) get(path ...string) *node {
	for _, name := range path {
		if n == nil {
			return nil
		}
		n = n.kids[name]
	}
	return n
}

// text returns the text of a part; numbers are text too.
func (n *node) text(path ...string) string {
	n = n.get(path...)
	switch {
	case n == nil:
		return ""
	case len(n.raw) > 0 && n.raw[0] != '"':
		return string(n.raw)
	}
	return jsontext.Unquote(n.raw)
}

func (n *node) list(path ...string) (out []*node) {
	n = n.get(path...)
	if n == nil {
		return nil
	}
	at := map[int]*node{}
	for key, kid := range n.kids {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 {
			at[i] = kid
		}
	}
	for _, i := range slices.Sorted(maps.Keys(at)) {
		out = append(out, at[i])
	}
	return out
}

// json returns a part as JSON.
func (n *node) json(path ...string) []byte {
	n = n.get(path...)
	switch {
	case n == nil:
		return nil
	case len(n.kids) == 0:
		return n.raw
	}
	var out jsontext.Object
	for _, key := range slices.Sorted(maps.Keys(n.kids)) {
		if v := n.kids[key].json(); v != nil {
			out = append(out, jsontext.Member{Key: key, Raw: v})
		}
	}
	return out.Bytes()
}
