package parquet

import "slices"

// Done tells the reader that rows before this one, of the file, are not used any
// more: the memory of their lists of numbers is used again, and with texts that of
// their strings. Without it the garbage collector takes it.
func (r *reader) Done(row int64, texts bool) {
	if r.uses == nil {
		r.uses = &uses{read: r.next}
		for _, c := range r.cursors {
			c.column.recycle(r.uses)
		}
	}
	r.uses.done, r.uses.texts = row, texts
}

// uses says which rows of a reader are in use.
type uses struct {
	done  int64 // rows before this one are not
	read  int64 // rows before this one were returned, or are being read
	texts bool  // that also holds for their strings
}

// used is memory of a page that rows keep, until their caller is done with a row.
type used[V any] struct {
	memory V
	until  int64
}

// recycler is the memory of a column's pages that rows keep. Without uses it
// keeps nothing.
type recycler[V any] struct {
	*uses
	used []used[V] // in the order of rows
	free []V
}

// retire adds the memory of a page that has been read.
func (r *recycler[V]) retire(v V) {
	if r.uses != nil {
		r.used = append(r.used, used[V]{v, r.read})
	}
}

// get returns memory that no row uses.
func (r *recycler[V]) get() (v V) {
	if r.uses == nil {
		return v
	}
	n := 0
	for ; n < len(r.used) && r.used[n].until <= r.done; n++ {
		r.free = append(r.free, r.used[n].memory)
	}
	r.used = slices.Delete(r.used, 0, n)
	if n = len(r.free); n > 0 {
		v, r.free = r.free[n-1], r.free[:n-1]
	}
	return v
}

// recycle makes the column use its memory again as uses says.
func (c *column) recycle(u *uses) { c.lists.uses, c.texts.uses = u, u }

// textRoom returns room for this many bytes of text; keep says that it is used
// as long as the chunk is read.
func (c *column) textRoom(size int64, keep bool) ([]byte, error) {
	if err := c.acquirePage(size, !c.scratch); err != nil {
		return nil, err
	}
	switch u := c.texts.uses; {
	case keep || !c.scratch && (u == nil || !u.texts):
		return make([]byte, 0, size), nil
	case !c.scratch:
		c.texts.retire(c.text)
		c.text = c.texts.get()
	}
	if int64(cap(c.text)) < size {
		c.text = make([]byte, 0, size+size/4) // pages are about as long as each other
	}
	return c.text[:0], nil
}
