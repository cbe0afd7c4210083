package importers

import (
	"bytes"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
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

// Limits of an account.
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
	fate    fate
	sample  string
	place   int // in the order of its siblings
	order   []*node
	kids    map[nodeKey]*node
}

type nodeKey struct {
	name string
	kind byte
}

// fate is what became of a member; of several objects it may be more than one.
type fate uint8

const (
	read fate = 1 << iota
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
