package query

import (
	"reflect"
	"strings"
)

// column is a column of rows or groups as conditions and orders read it: of numbers,
// NaN for null, or of texts, "" for null.
type column struct {
	absent []string // what an expression read, and no row had
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
