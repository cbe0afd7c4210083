package completion

import (
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// View is what the agent itself requested, and so sees in the answer.
type View struct{ Logprobs, IDs, Usage, Stream bool }

// cut is a span of an answer that the agent does not see, with its replacement.
type cut struct {
	from, to int
	put      string
}

// objectEdit drops and replaces members of the object that a cursor reads, as text:
// everything else keeps its bytes.
type objectEdit struct {
	first  int  // index in the cursor's cuts of this object's first
	kept   int  // end of the last member that stays; the position after the bracket at first
	begins int  // position of the current member's key
	hidden bool // the current member is left out
}

// object loops over an object's members with an edit of the object.
func (c *cursor) object(yield func(key []byte, e *objectEdit) bool) {
	e := &c.edits[c.depth]
	*e = objectEdit{first: len(c.cuts)}
	c.depth++
	defer func() { c.depth-- }()
	if !c.open('{') {
		return
	}
	e.kept = c.i
	for {
		e.begins, e.hidden = c.i, false
		key := jsontext.Key(c.key())
		if c.bad {
			return
		}
		from := c.i
		if !yield(key, e) || c.bad {
			return
		}
		if c.i == from {
			c.value()
		}
		ends := c.i
		more := c.more('}')
		if !e.hidden {
			e.kept = ends
		} else if c.cutMember(e, ends, more); c.bad {
			return
		}
		if !more {
			return
		}
	}
}

// cutMember cuts the current member with the comma after it, or before it if it is
// the last.
func (c *cursor) cutMember(e *objectEdit, ends int, more bool) {
	keep := len(c.cuts)
	for keep > e.first && c.cuts[keep-1].from >= e.begins {
		keep-- // what was cut inside
	}
	if more {
		c.cuts = append(c.cuts[:keep], cut{e.begins, c.i, ""})
		return
	}
	for keep > e.first && c.cuts[keep-1].from >= e.kept {
		keep--
	}
	c.cuts = append(c.cuts[:keep], cut{e.kept, ends, ""})
}

// visible returns what is left, written into room if anything was cut.
func (c *cursor) visible(room []byte) []byte {
	if len(c.cuts) == 0 {
		return c.b
	}
	size := len(c.b)
	for _, x := range c.cuts {
		size -= x.to - x.from - len(x.put)
	}
	out, at := slices.Grow(room[:0], size), 0
	for _, x := range c.cuts {
		out = append(append(out, c.b[at:x.from]...), x.put...)
		at = x.to
	}
	return append(out, c.b[at:]...)
}
