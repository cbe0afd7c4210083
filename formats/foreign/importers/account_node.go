package importers

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/redaction"
)

// node is a member of all objects of a path with one type.
type node struct {
	name    string
	simple  bool // JSON has the name as it is
	kind    byte
	records int64
	last    int64 // record that has it
	ok      int64 // records that gave a trajectory
	tries   int
	use     use
	sample  string
	place   int // in the order of its siblings
	order   []*node
	kids    map[nodeKey]*node
}

type nodeKey struct {
	name string
	kind byte
}

// use is what became of a member; of several objects it may be more than one.
type use uint8

const (
	read use = 1 << iota
	kept
	lost
	withheld
	ofUsers
	unread
	untried // the records that have it are too large
)

const star = "*" // stands for names that are data

// key returns the key at b[i] and its end. Mostly it is that of the member that is next.
func (n *node) key(b []byte, i, next int) ([]byte, int) {
	if next < len(n.order) && n.order[next].simple {
		if name := n.order[next].name; bytes.HasPrefix(b[i+1:], formats.Bytes(name)) {
			if end := i + 1 + len(name); end < len(b) && b[end] == '"' {
				return b[i+1 : end], end + 1
			}
		}
	}
	end := jsontext.Skip(b, i)
	return jsontext.Key(b[i:end]), end
}

// kid returns the node of a member, which is often the one after that of the member
// before; nil when its value is null, or there are too many.
func (a *Account) kid(at *node, key []byte, begins byte, next *int) *node {
	kind := kindOf(begins)
	if kind == 'n' {
		return nil
	}
	var kid *node
	if *next < len(at.order) && at.order[*next].kind == kind && at.order[*next].name == string(key) {
		kid = at.order[*next]
	} else if kid = at.kids[nodeKey{string(key), kind}]; kid == nil {
		if kid = a.grow(at, string(key), kind); kid == nil {
			return nil
		}
	} else {
		*next = kid.place
	}
	*next++
	if a.trying == nil && kid.last != a.record {
		kid.last = a.record
		kid.records++
		if a.ok {
			kid.ok++
			a.fresh = a.fresh || kid.ok <= 2
		}
	}
	return kid
}

func (a *Account) grow(at *node, name string, kind byte) *node {
	if at != &a.root && len(at.order) >= maxNames {
		name = star
	}
	key := nodeKey{name, kind}
	if at.kids[key] != nil {
		return at.kids[key]
	}
	if a.paths >= MaxPaths {
		return nil
	}
	if a.paths++; at.kids == nil {
		at.kids = map[nodeKey]*node{}
	}
	kid := &node{name: strings.Clone(name), simple: !strings.ContainsAny(name, `"\`), kind: kind, place: len(at.order)}
	at.kids[key] = kid
	at.order = append(at.order, kid)
	return kid
}

// kindOf returns the type of a value by its first byte.
func kindOf(b byte) byte {
	switch b {
	case '"', '{', '[', 'n':
		return b
	case 't', 'f':
		return 't'
	}
	return '0'
}

type Member struct {
	Path    string `json:"path"`
	Type    string `json:"type"`
	Records int64  `json:"records"`
	Became  string `json:"became"`
	Value   string `json:"value,omitempty"` // the beginning of the first that is no list or object, without keys

	Within bool `json:"-"` // another line says the same of all that is around it
}

// Merge adds the counts of another account.
func (a *Account) Merge(o *Account) {
	a.root.records += o.record
	a.merge(&a.root, &o.root)
}

func (a *Account) merge(at, from *node) {
	for _, f := range from.order {
		kid := at.kids[nodeKey{f.name, f.kind}]
		if kid == nil {
			kid = a.grow(at, f.name, f.kind)
		}
		if kid != nil {
			kid.records, kid.use, kid.sample = kid.records+f.records, kid.use|f.use, cmp.Or(kid.sample, f.sample)
			a.merge(kid, f)
		}
	}
}

// Members returns the account in the order of the source, with the beginnings of values if asked.
func (a *Account) Members(values bool) (out []Member) {
	a.list(&a.root, "", values, false, &out)
	return out
}

func (a *Account) list(at *node, prefix string, values, said bool, out *[]Member) {
	a.fold(at)
	for _, kid := range at.order {
		name := kid.name
		if strings.ContainsFunc(name, func(r rune) bool { return strings.ContainsRune(" .[]\"\n\t", r) }) {
			name = strconv.Quote(name)
		}
		m := Member{Path: redaction.Keyless(prefix + name), Type: types[kid.kind], Records: min(kid.records, at.records), Became: kid.use.String(),
			Within: said && kid.use == at.use}
		if values && kid.sample != "" && kid.use&(withheld|ofUsers) == 0 {
			m.Value = strings.ToValidUTF8(redaction.Keyless(kid.sample), "\uFFFD")
			m.Value = strings.ToValidUTF8(m.Value[:min(len(m.Value), sampleLen)], "")
		}
		kid.records = m.Records // of names that are data, one record may have several
		*out = append(*out, m)
		inner := map[bool]string{true: "[].", false: "."}[kid.kind == '[']
		a.list(kid, prefix+name+inner, values, kid.same(kid.use), out)
	}
}

// same reports whether all members within became the same.
func (n *node) same(f use) bool {
	return !slices.ContainsFunc(n.order, func(kid *node) bool { return kid.use != f || !kid.same(f) })
}

// fold makes members whose names are data one of each type.
func (a *Account) fold(at *node) {
	if at == &a.root || len(at.order) <= maxNames {
		return
	}
	all := *at
	at.order, at.kids = nil, nil
	a.paths -= len(all.order)
	for _, kid := range all.order {
		kid.name = star
	}
	a.merge(at, &all)
}

var types = map[byte]string{'"': "text", '{': "object", '[': "list", 't': "bool", '0': "number"}

var fates = []string{"read", "kept in metadata", "cannot be represented", "withheld: the name of a secret",
	"left out: about an end user", "unread", "not looked at: the record is large"}

func (f use) String() string {
	var out []string
	for i, text := range fates {
		if f&(1<<i) != 0 {
			out = append(out, text)
		}
	}
	return cmp.Or(strings.Join(out, ", "), "in refused records only")
}
