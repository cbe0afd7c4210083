package importers

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/secret"
)

// Account counts the members of records by path and type, and says what became of each.
// No reader has to tell: the first record that has a member is converted again without
// it, or with another value, and what then differs is what became of it. So the account
// is right for every format and for what its reader becomes. Members of the objects in a
// list have one path, and so do those of an object whose names are data. null is no
// value. The zero Account is empty; it is not safe for concurrent use.
type Account struct {
	root   node
	paths  int
	record int64 // that is read, from 1
	trying *trial
	tried  int // bytes
	fresh  bool
	ok     bool // the record gave trajectories
}

const (
	MaxPaths  = 10_000    // members at others are not counted
	maxNames  = 100       // of an object below the record; one with more has data for names
	maxTries  = 4         // of a member
	maxTried  = 256 << 20 // bytes of records that are converted again
	maxWithin = 64        // depth
	maxSample = 4 << 10   // bytes of a value that are looked at for keys
	sampleLen = 60        // of them shown
)

const star = "*" // stands for names that are data

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
	unread
	untried // the records that have it are too large
)

// Add counts the members of a record, which gave trajectories or did not, and reports
// whether Try has to see it.
func (a *Account) Add(data []byte, ok bool) (fresh bool) {
	a.record++
	a.fresh, a.ok = false, ok
	a.walk(data)
	return a.fresh
}

// walk visits the values of a record, which are several in a session.
func (a *Account) walk(data []byte) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for i := jsontext.Space(data, 0); i < len(data); {
		end := a.value(data, i, 0, &a.root)
		if i = jsontext.Space(data, end); end == 0 || i < len(data) && data[i] != '{' && data[i] != '[' {
			return
		}
	}
}

// value visits the members within the value at b[i], and returns its end.
func (a *Account) value(b []byte, i, depth int, at *node) int {
	switch {
	case i >= len(b) || depth > maxWithin:
	case b[i] == '{':
		next := 0
		for i = jsontext.Space(b, i+1); i < len(b) && b[i] == '"'; i = jsontext.Space(b, i+1) {
			from := i
			key, end := at.key(b, i, next)
			if i = jsontext.Space(b, jsontext.Space(b, end)+1); i >= len(b) {
				return i
			}
			kid := a.kid(at, key, b[i], &next)
			switch {
			case kid == nil:
				end = jsontext.Skip(b, i)
			case a.trying != nil:
				end = jsontext.Skip(b, i)
				a.trying.member(a, b, span{from, i, end}, at, kid)
				fallthrough
			default:
				end = a.value(b, i, depth+1, kid)
			}
			if i = jsontext.Space(b, end); i >= len(b) || b[i] != ',' {
				break
			}
		}
		return min(i+1, len(b))
	case b[i] == '[':
		if first := jsontext.Space(b, i+1); first < len(b) && b[first] != '{' && b[first] != '[' {
			if end := jsontext.Skip(b, i); bytes.IndexByte(b[i:end], '{') < 0 {
				return end
			}
		}
		for i = jsontext.Space(b, i+1); i < len(b) && b[i] != ']'; i = jsontext.Space(b, i+1) {
			if i = jsontext.Space(b, a.value(b, i, depth+1, at)); i >= len(b) || b[i] != ',' {
				break
			}
		}
		return min(i+1, len(b))
	case b[i] == '"' && depth <= 2:
		end := jsontext.Skip(b, i)
		if !isText(b[i:end]) {
			return end
		}
		if text := formats.Bytes(jsontext.Unquote(b[i:end])); jsontext.Valid(text) { // a column of JSON text
			if t := a.trying; t != nil {
				outer := *t
				defer func() { *t = outer }()
				t.whole = func(text []byte) []byte { return outer.whole(splice(b, i, end, Quote(string(text)))) }
			}
			a.value(text, 0, depth+1, at)
		}
		return end
	}
	return jsontext.Skip(b, min(i, len(b)))
}

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
	case at != &a.root && at.use&read == 0:
		if kid.use |= at.use; hidden {
			kid.use = withheld
		}
	case kid.tries >= maxTries:
	case a.tried > maxTried:
		kid.use |= untried
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
		kid.use |= cmp.Or(is, unread)
	}
}

// differs returns what another text changes in the trajectories; 0 for nothing.
func (t *trial) differs(text []byte) use {
	r := t.record
	r.Data = t.whole(text)
	got := t.format.Convert(r)
	if got.Err != nil || len(got.Items) != len(t.want.Items) {
		return read
	}
	var is use
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
			kid.records, kid.use, kid.sample = kid.records+f.records, kid.use|f.use, cmp.Or(kid.sample, f.sample)
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
		m := Member{Path: redaction.Keyless(prefix + name), Type: types[kid.kind], Records: min(kid.records, at.records), Became: kid.use.String(),
			Within: said && kid.use == at.use}
		if values && kid.sample != "" && kid.use&withheld == 0 {
			m.Value = strings.ToValidUTF8(redaction.Keyless(kid.sample), "\uFFFD")
			m.Value = strings.ToValidUTF8(m.Value[:min(len(m.Value), sampleLen)], "")
		}
		kid.records = m.Records // of names that are data, one record may have several
		*out = append(*out, m)
		inner := "."
		if kid.kind == '[' {
			inner = "[]."
		}
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

func (f use) String() string {
	var out []string
	for i, text := range fates {
		if f&(1<<i) != 0 {
			out = append(out, text)
		}
	}
	return cmp.Or(strings.Join(out, ", "), "in refused records only")
}
