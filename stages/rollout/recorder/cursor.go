package recorder

import "iter"

// cursor walks valid JSON once, from the outside in: a loop over members or
// elements stands at each value in turn, and the body of the loop may take it,
// walk into it, or leave it.
type cursor struct {
	b []byte
	i int
}

// value takes the value at the cursor.
func (c *cursor) value() []byte {
	from := c.i
	c.i = skip(c.b, from)
	return c.b[from:c.i]
}

// members stands at each member's value; at none for another kind of value.
func (c *cursor) members() iter.Seq[[]byte] {
	return func(yield func(key []byte) bool) {
		for range c.list('{') {
			key := keyOf(c.value())
			c.i = space(c.b, c.i)
			c.i = space(c.b, min(c.i+1, len(c.b))) // the colon
			from := c.i
			if !yield(key) {
				return
			}
			if c.i == from {
				c.value()
			}
		}
	}
}

// elements stands at each element; at none for another kind of value.
func (c *cursor) elements() iter.Seq[struct{}] { return c.list('[') }

func (c *cursor) list(bracket byte) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		c.i = space(c.b, c.i)
		if c.i >= len(c.b) || c.b[c.i] != bracket {
			c.value()
			return
		}
		for c.i = space(c.b, c.i+1); c.i < len(c.b) && c.b[c.i] != bracket+2; c.i = space(c.b, c.i+1) {
			from := c.i
			if !yield(struct{}{}) {
				return
			}
			if c.i == from {
				c.value()
			}
			if c.i = space(c.b, c.i); c.i >= len(c.b) || c.b[c.i] != ',' {
				break
			}
		}
		c.i = min(c.i+1, len(c.b)) // the closing bracket
	}
}
