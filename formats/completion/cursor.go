package completion

import "github.com/rollmill/rollmill/formats/jsontext"

// cursor reads JSON that has not been validated, once, from the outside in: a loop stops at each value in turn, and its
// body takes it or descends into it. Invalid JSON sets bad and ends every loop. Python's NaN, Infinity and -Infinity
// are values. A loop over a list, which reads any other value as an empty one:
//
//	for more := c.open('['); more; more = c.more(']') {
type cursor struct {
	b   []byte
	i   int
	bad bool

	hide bool   // set in the body of a loop over members: the agent does not see this one
	seen []byte // what the agent sees of b, up to done
	done int
}

// over returns the cursor, reset to the beginning of b.
func (c *cursor) over(b []byte) *cursor {
	*c = cursor{b: b, i: jsontext.Space(b, 0), seen: c.seen[:0]}
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

// members stops at each member's value, which the body of the loop may also skip; an empty loop for other kinds of
// value. A member that is hidden is cut with the comma after it, or before it if another one stays before it.
func (c *cursor) members(yield func(key []byte) bool) {
	last, stays := 0, false
	for more := c.open('{'); more; {
		begins := c.i
		key := c.key()
		from := c.i
		if c.bad || !yield(key) {
			return
		}
		if c.i == from {
			c.value()
		}
		ends, hide := c.i, c.hide
		if more, c.hide = c.more('}'), false; hide && stays {
			c.cut(last, ends, "")
		} else if hide && more {
			c.cut(begins, c.i, "")
		} else if hide {
			c.cut(begins, ends, "")
		}
		last, stays = ends, stays || !hide
	}
}

// cut has the agent see another text in the place of a part of the input, after the last one.
func (c *cursor) cut(from, to int, put string) {
	if !c.bad {
		c.seen, c.done = append(append(c.seen, c.b[c.done:from]...), put...), to
	}
}

// visible returns what the agent sees: the input itself if nothing was cut.
func (c *cursor) visible() []byte {
	if c.done == 0 {
		return c.b
	}
	c.seen = append(c.seen, c.b[c.done:]...)
	return c.seen
}

// key reads a member's key up to its value.
func (c *cursor) key() []byte {
	key, to := jsontext.ReadKey(c.b, c.i)
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
	return key
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
