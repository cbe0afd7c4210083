package parquet

import "slices"

// Done tells the reader that rows before this one, of the file, are not used any
// more: the memory of their lists of numbers is used again. Without it the garbage
// collector takes it.
func (r *reader) Done(row int64) {
	if r.uses == nil {
		r.uses = &uses{read: r.next}
		for _, c := range r.cursors {
			c.column.uses = r.uses
		}
	}
	r.uses.done = row
}

// uses says which rows of a reader are in use.
type uses struct {
	done int64 // rows before this one are not
	read int64 // rows before this one were returned, or are being read
}

// usedPage is values that rows keep, until their caller is done with a row.
type usedPage struct {
	values values
	until  int64
}

// recycler is the memory of a column's pages that rows keep. Without uses it
// keeps nothing.
type recycler struct {
	*uses
	used []usedPage // in the order of rows
	free []values
}

// retire adds the values of a page that has been read.
func (r *recycler) retire(v values) {
	if r.uses != nil {
		r.used = append(r.used, usedPage{v, r.read})
	}
}

// take returns memory that no row uses.
func (r *recycler) take() (v values) {
	if r.uses == nil {
		return v
	}
	n := 0
	for ; n < len(r.used) && r.used[n].until <= r.done; n++ {
		r.free = append(r.free, r.used[n].values)
	}
	r.used = slices.Delete(r.used, 0, n)
	if n = len(r.free); n > 0 {
		v, r.free = r.free[n-1], r.free[:n-1]
	}
	return v
}
