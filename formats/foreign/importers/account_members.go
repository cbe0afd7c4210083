package importers

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/redaction"
)

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
