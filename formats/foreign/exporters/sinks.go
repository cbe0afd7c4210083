package exporters

import (
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet"
)

// Sink writes one file.
type Sink interface {
	Give(x *Item) error
	Rows() int64
	Close() error
}

// Lines returns a function that begins a file of JSON Lines.
func Lines[T any](rows func(*Item) []T) func(io.Writer) Sink {
	return RawLines(func(dst []byte, x *Item) (_ []byte, n int64, err error) {
		for _, r := range rows(x) {
			if dst, err = jsontext.AppendLine(dst, r); err != nil {
				return dst, n, err
			}
			n++
		}
		return dst, n, nil
	})
}

// RawLines is Lines for a function that appends its own lines and returns their number.
func RawLines(add func(dst []byte, x *Item) ([]byte, int64, error)) func(io.Writer) Sink {
	return func(out io.Writer) Sink { return &lines{out: out, add: add} }
}

// Table returns a function that begins a Parquet file.
func Table[T any](rows func(*Item) []T) func(io.Writer) Sink {
	return func(out io.Writer) Sink { return newTable(out, rows) }
}

// NotedTable is Table with a pair in the metadata of the file.
func NotedTable[T any](key, value string, rows func(*Item) []T) func(io.Writer) Sink {
	return func(out io.Writer) Sink {
		t := newTable(out, rows)
		t.Note(key, value)
		return t
	}
}

// maxBuffer is how large a buffer is kept for the next item: each format of an export keeps one.
const maxBuffer = 4 << 20

type lines struct {
	out  io.Writer
	add  func(dst []byte, x *Item) ([]byte, int64, error)
	buf  []byte
	rows int64
}

func (l *lines) Give(x *Item) error {
	buf, n, err := l.add(l.buf[:0], x)
	if err != nil {
		return err
	}
	if cap(buf) <= maxBuffer {
		l.buf = buf
	}
	l.rows += n
	_, err = l.out.Write(buf)
	return err
}

func (l *lines) Rows() int64 { return l.rows }

func (l *lines) Close() error { return nil }

type table[T any] struct {
	*parquet.Writer[T]
	rows func(*Item) []T
}

func (t *table[T]) Give(x *Item) error {
	rows := t.rows(x)
	if len(rows) == 0 {
		return nil
	}
	return t.Write(rows)
}

func newTable[T any](out io.Writer, rows func(*Item) []T) *table[T] {
	return &table[T]{parquet.NewWriter[T](out), rows}
}

// Put writes one document of a folder. The bytes are the caller's again when it returns.
type Put func(name string, data []byte) error

// Documents returns a function that begins a folder with a document for each
// trajectory with messages, named after its id. add appends the document.
func Documents(extension string, add func(dst []byte, t *formats.Trajectory, x *Item) ([]byte, error)) func(Put) Sink {
	return func(put Put) Sink { return &documents{put: put, add: add, extension: extension} }
}

type documents struct {
	put       Put
	add       func(dst []byte, t *formats.Trajectory, x *Item) ([]byte, error)
	extension string
	buf       []byte
	rows      int64
}

func (d *documents) Give(x *Item) error {
	for i := range x.Rows {
		t := &x.Rows[i]
		if len(t.Messages) == 0 {
			x.Skip(noMessages)
			continue
		}
		var err error
		if d.buf, err = d.add(d.buf[:0], t, x); err != nil {
			return err
		}
		d.rows++
		if err := d.put(fileName(t.TrajectoryID)+d.extension, d.buf); err != nil {
			return err
		}
	}
	return nil
}

func (d *documents) Rows() int64 { return d.rows }

func (d *documents) Close() error { return nil }

const hexDigits = "0123456789abcdef"

// fileName returns an id as the name of a file: letters, digits and -_. stand
// for themselves, a dot not at the beginning; every other byte is ~ and two hex
// digits. Different ids have different names; on a disk that ignores case, those
// that differ in case only may collide, which Create reports.
func fileName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'~', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	if b.Len() == 0 {
		return "~"
	}
	return b.String()
}
