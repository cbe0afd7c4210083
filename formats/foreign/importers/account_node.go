package importers

import (
	"bytes"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
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
