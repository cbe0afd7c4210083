package query

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// column is a column of rows or groups as conditions and orders read it: of numbers,
// NaN for null, or of texts, "" for null.
type column struct {
	number func(i uint32) float64
	text   func(i uint32) string // instead of number
	code   func(i uint32) uint32 // of its text in values; nil for texts that are not numbered
	values []string
}

func numbers[T int32 | float64](values []T) *column {
	return &column{number: func(i uint32) float64 { return float64(values[i]) }}
}

// coded is a column of values that several rows share. Each row has the number of its value:
// in one byte until there are more.
type coded[T comparable] struct {
	narrow []uint8
	wide   []uint32 // instead of narrow
	values []T
	size   int64        // bytes of texts
	number map[T]uint32 // nil once the column is complete
	last   uint32       // the number of the row before
}

func newCoded[T comparable](rows int64) coded[T] {
	return coded[T]{narrow: make([]uint8, 0, rows), number: map[T]uint32{}}
}

func (c *coded[T]) len() int { return len(c.narrow) + len(c.wide) }

func (c *coded[T]) add(v T) {
	switch next := int(c.last) + 1; {
	case len(c.values) > 0 && c.values[c.last] == v: // rows of a group are adjacent
	case next < len(c.values) && c.values[next] == v: // and their generations ascend
		c.last++
	default:
		c.last = c.numberOf(v)
	}
	if c.wide == nil && c.last > 0xff {
		c.wide = make([]uint32, len(c.narrow), max(cap(c.narrow), len(c.narrow)+1))
		for i, n := range c.narrow {
			c.wide[i] = uint32(n)
		}
		c.narrow = nil
	}
	if c.wide != nil {
		c.wide = append(c.wide, c.last)
		return
	}
	c.narrow = append(c.narrow, uint8(c.last))
}

// numberOf returns the number of a value, a new one if need be. A text is copied.
func (c *coded[T]) numberOf(v T) uint32 {
	code, known := c.number[v]
	if !known {
		if text, is := any(v).(string); is {
			v, c.size = any(strings.Clone(text)).(T), c.size+int64(len(text))
		}
		code = uint32(len(c.values))
		c.number[v], c.values = code, append(c.values, v)
	}
	return code
}

func (c *coded[T]) at(row uint32) uint32 {
	if c.wide != nil {
		return c.wide[row]
	}
	return uint32(c.narrow[row])
}

func (c *coded[T]) of(row uint32) T { return c.values[c.at(row)] }

func (c *coded[T]) bytes() int64 {
	return int64(cap(c.narrow)) + 4*int64(cap(c.wide)) + int64(reflect.TypeFor[T]().Size())*int64(cap(c.values)) + c.size
}

type words = coded[string]

func wordsColumn(w *words) *column { return &column{text: w.of, code: w.at, values: w.values} }

// idBytes is the size of the ids that rollmill makes: 24 hex digits.
const idBytes = 12

// ids are the ids of trajectories: half the size as long as all are rollmill's own.
type ids struct {
	packed []byte
	other  []string // instead of packed, once there is another
}

func (t *ids) len() int { return len(t.other) + len(t.packed)/idBytes }

func (t *ids) add(id string) {
	if t.other == nil {
		if packed, ok := pack(id); ok {
			t.packed = append(t.packed, packed[:]...)
			return
		}
		for i := range uint32(t.len()) {
			t.other = append(t.other, t.of(i))
		}
		t.packed = nil
	}
	t.other = append(t.other, strings.Clone(id))
}

func (t *ids) of(i uint32) string {
	if t.other != nil {
		return t.other[i]
	}
	return hex.EncodeToString(t.packed[i*idBytes:][:idBytes])
}

// is reports whether the id of a row is this one.
func (t *ids) is(i uint32, id string) bool {
	if t.other != nil {
		return t.other[i] == id
	}
	packed, ok := pack(id)
	return ok && bytes.Equal(t.packed[i*idBytes:][:idBytes], packed[:])
}

// find returns the row with an id, or -1.
func (t *ids) find(id string) int64 {
	if t.other != nil {
		return int64(slices.Index(t.other, id))
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

func (t *ids) bytes() int64 {
	total := int64(cap(t.packed))
	for _, id := range t.other {
		total += 16 + int64(len(id))
	}
	return total
}

// pack returns the bytes of an id that rollmill made.
func pack(id string) (out [idBytes]byte, ok bool) {
	if len(id) != 2*idBytes {
		return out, false
	}
	_, err := hex.Decode(out[:], []byte(id))
	return out, err == nil && id == strings.ToLower(id)
}
