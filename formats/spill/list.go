package spill

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"iter"
)

// List keeps records in the order in which they were added. They can be read any number of times.
type List struct {
	memory int64
	file   file
	tail   []byte // the records added last
	n      int
}

// NewList returns a list that spills to dir ("": the system's) what exceeds
// about so many bytes of memory. It must be closed.
func NewList(dir string, memory int64) *List {
	return &List{memory: memory, file: file{dir: dir}}
}

// Add copies a record.
func (l *List) Add(record []byte) error {
	if len(l.tail) > 0 && int64(len(l.tail)+len(record)) > l.memory {
		if err := l.file.append(func(w io.Writer) error { _, err := w.Write(l.tail); return err }); err != nil {
			return err
		}
		l.tail = l.tail[:0]
	}
	l.tail = binary.AppendUvarint(append(l.tail, 0), uint64(len(record))) // as a run: there is no key
	l.tail = append(l.tail, record...)
	l.n++
	return nil
}

// Len is the number of records.
func (l *List) Len() int { return l.n }

// All yields every record; one is valid until the next. No record may be added meanwhile.
func (l *List) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r := run{from: bufio.NewReader(io.MultiReader(l.file.reader(span{0, l.file.size}), bytes.NewReader(l.tail)))}
		for {
			err := r.next()
			if errors.Is(err, io.EOF) || !yield(r.Value, err) || err != nil {
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
func (l *List) Close() error {
	l.tail = nil
	return l.file.Close()
}
