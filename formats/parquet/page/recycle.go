package page

import "slices"

// Uses says which rows of a reader are in use.
type Uses struct {
	Done  int64 // rows before this one are not
	Read  int64 // rows before this one were returned, or are being read
	Texts bool  // that also holds for their strings
}

// used is memory of a page that rows keep, until their caller is done with a row.
type used[V any] struct {
	memory V
	until  int64
}

// recycler is the memory of a column's pages that rows keep. Without uses it keeps nothing.
type recycler[V any] struct {
	*Uses
	used []used[V] // in the order of rows
	free []V
}

// Retire adds the memory of a page that has been read.
func (r *recycler[V]) Retire(v V) {
	if r.Uses != nil {
		r.used = append(r.used, used[V]{v, r.Read})
	}
}

// get returns memory that no row uses.
func (r *recycler[V]) get() (v V) {
	if r.Uses == nil {
		return v
	}
	n := 0
	for ; n < len(r.used) && r.used[n].until <= r.Done; n++ {
		r.free = append(r.free, r.used[n].memory)
	}
	r.used = slices.Delete(r.used, 0, n)
	if n = len(r.free); n > 0 {
		v, r.free = r.free[n-1], r.free[:n-1]
	}
	return v
}

// Recycle makes the column use its memory again as uses says.
func (c *Column) Recycle(u *Uses) { c.Lists.Uses, c.Texts.Uses = u, u }

// textRoom returns room for this many bytes of text; keep says that it is used
// as long as the chunk is read.
func (c *Column) textRoom(size int64, keep bool) ([]byte, error) {
	if err := c.acquirePage(size, !c.Scratch); err != nil {
		return nil, err
	}
	switch u := c.Texts.Uses; {
	case keep || !c.Scratch && (u == nil || !u.Texts):
		return make([]byte, 0, size), nil
	case !c.Scratch:
		c.Texts.Retire(c.Text)
		c.Text = c.Texts.get()
	}
	if int64(cap(c.Text)) < size {
		c.Text = make([]byte, 0, size+size/4) // pages are about as long as each other
	}
	return c.Text[:0], nil
}
