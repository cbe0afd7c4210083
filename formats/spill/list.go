package spill

import (
	"cmp"
	"context"
	"encoding/binary"
	"iter"
)

// List keeps records in the order in which they were added. They can be read any number of times.
type List struct {
	sorter *Sorter // by number
	n      int
}

// NewList returns a list that spills to dir ("": the system's) what exceeds
// about so many bytes of memory. It must be closed.
func NewList(dir string, memory int64) *List { return &List{sorter: New(dir, memory)} }

// Add copies a record.
func (l *List) Add(record []byte) error {
	l.n++
	return l.sorter.Add(Key(nil, uint64(l.n)), record)
}

// Len is the number of records.
func (l *List) Len() int { return l.n }

// All yields every record; one is valid until the next. No record may be added meanwhile.
func (l *List) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for r, err := range l.sorter.Sorted() {
			if !yield(r.Value, err) {
				return
			}
		}
	}
}

// SortBy adds the records to a sorter. places has the number of a record as its key, 8 bytes, and in the value its
// key to sort by, of so many bytes, and then what goes before it; a record that is not in places is left out.
func (l *List) SortBy(ctx context.Context, places *Sorter, key int, to *Sorter) error {
	next, stop := iter.Pull2(places.Sorted())
	defer stop()
	x, err, more := next()
	n, buf := uint64(0), []byte(nil)
	for record, bad := range l.All() {
		if err = cmp.Or(err, bad, ctx.Err()); err != nil {
			return err
		}
		if more && binary.BigEndian.Uint64(x.Key) == n {
			buf = append(append(buf[:0], x.Value[key:]...), record...)
			if err := to.Add(x.Value[:key], buf); err != nil {
				return err
			}
			x, err, more = next()
		}
		n++
	}
	return err
}

// Close removes the file.
func (l *List) Close() error { return l.sorter.Close() }
