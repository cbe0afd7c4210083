package completion

import (
	"iter"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// cursor reads JSON that has not been validated, once, from the outside in: a
// loop over members or elements stops at each value in turn, and the loop body
// may take it, descend into it, or skip it. Invalid JSON sets bad and ends
// every loop. Python's NaN, Infinity and -Infinity are values.
type cursor struct {
	b    []byte
	i    int
	bad  bool
	cuts []cut // in order; see edit

	edits [2]objectEdit // of the answer and of a choice in it, so that they need no allocation
	depth int
}

// over returns the cursor, reset to the beginning of b.
func (c *cursor) over(b []byte) *cursor {
	*c = cursor{b: b, i: jsontext.Space(b, 0), cuts: c.cuts[:0]}
	return c
}

func (c *cursor) value() []byte {
	from := c.i
	to := jsontext.CheckValue(c.b, from, 0)
	if to < 0 {
		c.fail()
		return nil
	}
	c.i = to
	return c.b[from:to]
}

func (c *cursor) fail() { c.bad, c.i = true, len(c.b) }

// end reports whether only space follows.
func (c *cursor) end() bool { return !c.bad && jsontext.Space(c.b, c.i) == len(c.b) }

// members stops at each member's value; an empty loop for other kinds of value.
func (c *cursor) members() iter.Seq[[]byte] {
	return func(yield func(key []byte) bool) {
		for range c.list('{') {
			raw := c.key()
			if c.bad {
				return
			}
			from := c.i
			if !yield(jsontext.Key(raw)) {
				return
			}
			if c.i == from {
				c.value()
			}
		}
	}
}

func (c *cursor) key() []byte {
	from := c.i
	to := jsontext.CheckString(c.b, from)
	if to < 0 {
		c.fail()
		return nil
	}
	colon := jsontext.Space(c.b, to)
	if colon >= len(c.b) || c.b[colon] != ':' {
		c.fail()
		return nil
	}
	c.i = jsontext.Space(c.b, colon+1)
	return c.b[from:to]
}

// elements stops at each element; an empty loop for other kinds of value.
func (c *cursor) elements() iter.Seq[struct{}] { return c.list('[') }

func (c *cursor) list(bracket byte) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		if !c.open(bracket) {
			return
		}
		for {
			from := c.i
			if !yield(struct{}{}) || c.bad {
				return
			}
			if c.i == from {
				c.value()
			}
			if !c.more(bracket + 2) {
				return
			}
		}
	}
}

// open steps into a list or object and reports whether it is not empty.
func (c *cursor) open(bracket byte) bool {
	c.i = jsontext.Space(c.b, c.i)
	if c.i >= len(c.b) || c.b[c.i] != bracket {
		c.value()
		return false
	}
	c.i = jsontext.Space(c.b, c.i+1)
	if c.i < len(c.b) && c.b[c.i] == bracket+2 {
		c.i++
		return false
	}
	return true
}

// more steps over the comma to the next value, or over the closing bracket.
func (c *cursor) more(closing byte) bool {
	if c.bad {
		return false
	}
	c.i = jsontext.Space(c.b, c.i)
	switch {
	case c.i >= len(c.b):
	case c.b[c.i] == ',':
		c.i = jsontext.Space(c.b, c.i+1)
		return true
	case c.b[c.i] == closing:
		c.i++
		return false
	}
	c.fail()
	return false
}
