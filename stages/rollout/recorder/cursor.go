package recorder

import "iter"

// cursor walks JSON that nobody has looked at yet, once, from the outside in:
// a loop over members or elements stands at each value in turn, and the body
// of the loop may take it, walk into it, or leave it. What is not JSON sets
// bad and ends every loop. Python's NaN, Infinity and -Infinity are values.
type cursor struct {
	b    []byte
	i    int
	bad  bool
	cuts []cut // in order; see edit

	edits [4]edit // of the objects around, so that they need no memory of their own
	depth int
}

// over is the cursor at the beginning of a text.
func (c *cursor) over(b []byte) *cursor {
	*c = cursor{b: b, i: space(b, 0), cuts: c.cuts[:0]}
	return c
}

// value takes the value at the cursor.
func (c *cursor) value() []byte {
	from := c.i
	to := check(c.b, from, 0)
	if to < 0 {
		c.fail()
		return nil
	}
	c.i = to
	return c.b[from:to]
}

func (c *cursor) fail() { c.bad, c.i = true, len(c.b) }

// end tells whether nothing but space follows.
func (c *cursor) end() bool { return !c.bad && space(c.b, c.i) == len(c.b) }

// members stands at each member's value; at none for another kind of value.
func (c *cursor) members() iter.Seq[[]byte] {
	return func(yield func(key []byte) bool) {
		for range c.list('{') {
			raw := c.key()
			if c.bad {
				return
			}
			from := c.i
			if !yield(keyOf(raw)) {
				return
			}
			if c.i == from {
				c.value()
			}
		}
	}
}

// key takes a member's key and its colon.
func (c *cursor) key() []byte {
	from := c.i
	to := checkString(c.b, from)
	if to < 0 {
		c.fail()
		return nil
	}
	colon := space(c.b, to)
	if colon >= len(c.b) || c.b[colon] != ':' {
		c.fail()
		return nil
	}
	c.i = space(c.b, colon+1)
	return c.b[from:to]
}

// elements stands at each element; at none for another kind of value.
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

// open steps into a list and tells whether it has something.
func (c *cursor) open(bracket byte) bool {
	c.i = space(c.b, c.i)
	if c.i >= len(c.b) || c.b[c.i] != bracket {
		c.value()
		return false
	}
	c.i = space(c.b, c.i+1)
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
	c.i = space(c.b, c.i)
	switch {
	case c.i >= len(c.b):
	case c.b[c.i] == ',':
		c.i = space(c.b, c.i+1)
		return true
	case c.b[c.i] == closing:
		c.i++
		return false
	}
	c.fail()
	return false
}
