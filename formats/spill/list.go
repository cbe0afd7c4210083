package spill

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
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
		if err := l.file.append(func(w *bufio.Writer) error { _, err := w.Write(l.tail); return err }); err != nil {
			return err
		}
		l.tail = l.tail[:0]
	}
	l.tail = binary.AppendUvarint(l.tail, uint64(len(record)))
	l.tail = append(l.tail, record...)
	l.n++
	return nil
}

// Len is the number of records.
func (l *List) Len() int { return l.n }

// All yields every record; one is valid until the next. No record may be added meanwhile.
func (l *List) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if len(l.file.runs) > 0 {
			more, err := l.spilled(func(b []byte) bool { return yield(b, nil) })
			if err != nil {
				yield(nil, err)
			}
			if !more {
				return
			}
		}
		for at := 0; at < len(l.tail); {
			size, n := binary.Uvarint(l.tail[at:])
			end := at + n + int(size)
			if !yield(l.tail[at+n:end:end], nil) {
				return
			}
			at = end
		}
	}
}

// spilled yields the records in the file, and reports whether to continue.
func (l *List) spilled(yield func([]byte) bool) (more bool, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(l.file.f, 0, l.file.size), 256<<10)
	var buf []byte
	for {
		size, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err == nil {
			buf = slices.Grow(buf[:0], int(size))[:size]
			_, err = io.ReadFull(r, buf)
		}
		if err != nil {
			return false, fmt.Errorf("spill: %v", err) // no end of the list, whatever it wraps
		}
		if !yield(buf) {
			return false, nil
		}
	}
}

// Close removes the file.
func (l *List) Close() error {
	l.tail = nil
	return l.file.Close()
}
