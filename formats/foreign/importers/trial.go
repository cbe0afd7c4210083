package importers

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/secret"
)

// trial converts a record again without each of its members.
type trial struct {
	format *Format
	record Record
	want   Parsed
	whole  func(part []byte) []byte // the record with another text for the one that is walked through
}

// span is a member within a text: from its key, or from its value.
type span struct{ key, value, end int }

// Try finds out what became of the members of a record that are new. The record gave
// trajectories, and Add said that it is fresh.
func (a *Account) Try(f *Format, r *Record) {
	record := *r
	record.Room, record.Losses, record.Withheld = nil, nil, 0
	t := &trial{format: f, record: record, whole: func(part []byte) []byte { return part }}
	if t.want = f.Convert(record); t.want.Err == nil {
		a.trying = t
		a.walk(r.Data)
		a.trying = nil
	}
}

func (t *trial) member(a *Account, b []byte, s span, at, kid *node) {
	v := b[s.value:s.end]
	hidden := secret.Member(kid.name, v)
	if kid.sample == "" && !hidden && v[0] != '{' && v[0] != '[' {
		kid.sample = string(v[:min(len(v), maxSample)])
	}
	switch {
	case at != &a.root && at.fate&read == 0:
		if kid.fate |= at.fate; hidden {
			kid.fate = withheld
		}
	case kid.tries >= maxTries:
	case a.tried > maxTried:
		kid.fate |= untried
	default:
		kid.tries++
		a.tried += 2 * len(t.record.Data)
		is := t.differs(without(b, s))
		if is == 0 {
			is = t.differs(splice(b, s.value, s.end, other(v)))
		}
		if hidden && is != read {
			is = withheld
		}
		kid.fate |= cmp.Or(is, unread)
	}
}

// differs returns what another text changes in the trajectories; 0 for nothing.
func (t *trial) differs(text []byte) fate {
	r := t.record
	r.Data = t.whole(text)
	got := t.format.Convert(r)
	if got.Err != nil || len(got.Items) != len(t.want.Items) {
		return read
	}
	var is fate
	for i := range got.Items {
		x, y := got.Items[i], t.want.Items[i]
		if x.Row.Metadata != y.Row.Metadata {
			is |= kept
		}
		if x.Row.Metadata, y.Row.Metadata = "", ""; !reflect.DeepEqual(x, y) {
			return read
		}
	}
	if is == 0 && !slices.Equal(got.Losses, t.want.Losses) {
		is = lost
	}
	return is
}

func splice(b []byte, from, to int, by []byte) []byte { return slices.Concat(b[:from], by, b[to:]) }

// without returns a text without a member.
func without(b []byte, s span) []byte {
	if next := jsontext.Space(b, s.end); next < len(b) && b[next] == ',' {
		return splice(b, s.key, next+1, nil)
	}
	if before := bytes.TrimRight(b[:s.key], " \n\t\r"); bytes.HasSuffix(before, []byte(",")) {
		return splice(b, len(before)-1, s.end, nil)
	}
	return splice(b, s.key, s.end, nil)
}

// other returns another value of the same type.
func other(v []byte) []byte {
	switch {
	case v[0] == '"':
		return append(v[:len(v)-1:len(v)-1], `x"`...)
	case v[0] == 't':
		return []byte("false")
	case v[0] == 'f':
		return []byte("true")
	case v[0] == '{' || v[0] == '[':
		return []byte(`"x"`)
	case string(v) == "7":
		return []byte("8")
	}
	return []byte("7")
}

// Member is a line of an account.
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
			kid.records, kid.fate, kid.sample = kid.records+f.records, kid.fate|f.fate, cmp.Or(kid.sample, f.sample)
			a.merge(kid, f)
		}
	}
}

// Members returns the account in the order of the source, with the beginnings of values
// or without.
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
		m := Member{Path: redaction.Keyless(prefix + name), Type: types[kid.kind], Records: min(kid.records, at.records), Became: kid.fate.String(),
			Within: said && kid.fate == at.fate}
		if values && kid.sample != "" && kid.fate&withheld == 0 {
			m.Value = strings.ToValidUTF8(redaction.Keyless(kid.sample), "\uFFFD")
			m.Value = strings.ToValidUTF8(m.Value[:min(len(m.Value), sampleLen)], "")
		}
		kid.records = m.Records // of names that are data, one record may have several
		*out = append(*out, m)
		inner := "."
		if kid.kind == '[' {
			inner = "[]."
		}
		a.list(kid, prefix+name+inner, values, kid.same(kid.fate), out)
	}
}

// same reports whether all members within became the same.
func (n *node) same(f fate) bool {
	return !slices.ContainsFunc(n.order, func(kid *node) bool { return kid.fate != f || !kid.same(f) })
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

var fates = []string{"read", "kept in metadata", "cannot be represented", "withheld: the name of a secret", "unread",
	"not looked at: the record is large"}

func (f fate) String() string {
	var out []string
	for i, text := range fates {
		if f&(1<<i) != 0 {
			out = append(out, text)
		}
	}
	return cmp.Or(strings.Join(out, ", "), "in refused records only")
}
