package query

import (
	"bytes"
	"encoding/hex"
	"sort"
	"strings"
)

// codes is a column of small numbers: one byte each until one needs more.
type codes struct {
	narrow []uint8
	wide   []uint32 // instead of narrow
}

func (c *codes) append(v uint32) {
	if c.wide == nil && v > 0xff {
		c.wide = make([]uint32, len(c.narrow), max(cap(c.narrow), len(c.narrow)+1))
		for i, n := range c.narrow {
			c.wide[i] = uint32(n)
		}
		c.narrow = nil
	}
	if c.wide != nil {
		c.wide = append(c.wide, v)
		return
	}
	c.narrow = append(c.narrow, uint8(v))
}

func (c *codes) at(i uint32) uint32 {
	if c.wide != nil {
		return c.wide[i]
	}
	return uint32(c.narrow[i])
}

func (c *codes) bytes() int64 { return int64(cap(c.narrow)) + 4*int64(cap(c.wide)) }

// numbered is a column whose values are those of many rows. Its texts are its own.
type numbered[T comparable] struct {
	codes
	values []T
	number map[T]uint32
	keep   func(T) T // copies a value that is new; nil: not needed
}

func newTexts(rows int64) *numbered[string] {
	return &numbered[string]{codes: codes{narrow: make([]uint8, 0, rows)}, number: map[string]uint32{}, keep: strings.Clone}
}

func newNumbers[T int32 | int64](rows int64) *numbered[T] {
	return &numbered[T]{codes: codes{narrow: make([]uint8, 0, rows)}, number: map[T]uint32{}}
}

func (n *numbered[T]) add(v T) {
	code, known := n.number[v]
	if !known {
		if n.keep != nil {
			v = n.keep(v)
		}
		code = uint32(len(n.values))
		n.number[v] = code
		n.values = append(n.values, v)
	}
	n.append(code)
}

func (n *numbered[T]) of(row uint32) T { return n.values[n.at(row)] }

// named is numbered for texts that a few adjacent rows share: ids of groups and
// examples. It keeps the texts in one piece.
type named struct {
	codes  []uint32
	texts  texts
	number map[string]uint32 // nil once the column is complete
	last   string
}

func newNamed(rows int64) *named {
	return &named{codes: make([]uint32, 0, rows), number: map[string]uint32{}}
}

func (n *named) add(text string) {
	if len(n.codes) > 0 && text == n.last {
		n.codes = append(n.codes, n.codes[len(n.codes)-1])
		return
	}
	code, known := n.number[text]
	if !known {
		code = uint32(n.texts.len())
		n.texts.add(text)
		n.last = strings.Clone(text)
		n.number[n.last] = code
	} else {
		n.last = n.texts.of(code)
	}
	n.codes = append(n.codes, code)
}

func (n *named) of(row uint32) string { return n.texts.of(n.codes[row]) }

// texts are texts in one piece.
type texts struct {
	data []byte
	ends []uint64
}

func (t *texts) len() int { return len(t.ends) }

func (t *texts) add(text string) {
	t.data = append(t.data, text...)
	t.ends = append(t.ends, uint64(len(t.data)))
}

func (t *texts) bytesOf(i uint32) []byte {
	from := uint64(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.data[from:t.ends[i]]
}

func (t *texts) of(i uint32) string { return string(t.bytesOf(i)) }

func (t *texts) bytes() int64 { return int64(cap(t.data)) + 8*int64(cap(t.ends)) }

// find returns the number of a text, or -1.
func (t *texts) find(text string) int64 {
	for i := range t.ends {
		if string(t.bytesOf(uint32(i))) == text {
			return int64(i)
		}
	}
	return -1
}

// idBytes is the size of the ids that rollmill makes: 24 hex digits.
const idBytes = 12

// ids are the ids of trajectories: half the size as long as all are rollmill's own.
type ids struct {
	packed []byte
	texts  texts // instead of packed, once there is another
	other  bool
}

func (t *ids) len() int {
	if t.other {
		return t.texts.len()
	}
	return len(t.packed) / idBytes
}

func (t *ids) add(id string) {
	if !t.other {
		if packed, ok := pack(id); ok {
			t.packed = append(t.packed, packed[:]...)
			return
		}
		for i := range uint32(t.len()) {
			t.texts.add(t.of(i))
		}
		t.packed, t.other = nil, true
	}
	t.texts.add(id)
}

func (t *ids) of(i uint32) string {
	if t.other {
		return t.texts.of(i)
	}
	return hex.EncodeToString(t.packed[i*idBytes:][:idBytes])
}

// is reports whether the id of a row is this one.
func (t *ids) is(i uint32, id string) bool {
	if t.other {
		return string(t.texts.bytesOf(i)) == id
	}
	packed, ok := pack(id)
	return ok && bytes.Equal(t.packed[i*idBytes:][:idBytes], packed[:])
}

// find returns the row with an id, or -1.
func (t *ids) find(id string) int64 {
	if t.other {
		return t.texts.find(id)
	}
	packed, ok := pack(id)
	if !ok {
		return -1
	}
	for at := 0; ; {
		i := bytes.Index(t.packed[at:], packed[:])
		if i < 0 {
			return -1
		}
		if at += i; at%idBytes == 0 {
			return int64(at / idBytes)
		}
		at++
	}
}

// within returns the row with an id among rows that are sorted by id, or -1.
func (t *ids) within(sorted []uint32, id string) int64 {
	i, found := sort.Find(len(sorted), func(i int) int { return strings.Compare(id, t.of(sorted[i])) })
	if !found {
		return -1
	}
	return int64(sorted[i])
}

func (t *ids) bytes() int64 { return int64(cap(t.packed)) + t.texts.bytes() }

// pack returns the bytes of an id that rollmill made.
func pack(id string) (out [idBytes]byte, ok bool) {
	if len(id) != 2*idBytes || id != strings.ToLower(id) {
		return out, false
	}
	_, err := hex.Decode(out[:], []byte(id))
	return out, err == nil
}
