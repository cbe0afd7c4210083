// Package exporters turns curated groups into the rows that trainers elsewhere
// load: which shapes there are, what each is made of, and how its files are
// written. It opens no file; whoever exports brings a writer for each.
//
// To add a shape: a line in formats/exporters/all.
package exporters

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/trl"
)

// Format is a shape of rows. It is written as JSON Lines, as Parquet, or as
// either; the other function is nil.
type Format struct {
	Name  string
	Of    Source
	Whole bool // a file must hold every group, or be refused

	Lines func(io.Writer) Sink
	Table func(io.Writer) Sink
}

// Source is what rows are made of.
type Source string

// The sources.
const (
	Groups Source = "groups"
	Top    Source = "best members"      // of each group
	Pairs  Source = formats.TablePairs  // or of each group's best against its worst
	Labels Source = formats.TableLabels // or of advantages
)

// Item is one of what rows are made of.
type Item struct {
	Rows   []formats.Trajectory // of Groups and Top
	Pair   trl.Preference
	Single trl.Unpaired

	Before int64               // items of the file before it
	Given  int64               // rows of the file before it
	Skip   func(reason string) // says why the item gives no row
}

// Sink writes one file.
type Sink interface {
	Give(x *Item) error
	Rows() int64
	Size() int64 // bytes so far, those included that are still to be written
	Close() error
}

// Lines is a format of JSON Lines.
func Lines[T any](name string, of Source, rows func(*Item) []T) Format {
	return RawLines(name, of, func(dst []byte, x *Item) (_ []byte, n int64, err error) {
		for _, r := range rows(x) {
			if dst, err = jsontext.AppendLine(dst, r); err != nil {
				return dst, n, err
			}
			n++
		}
		return dst, n, nil
	})
}

// RawLines is a format that appends its own lines, and returns how many.
func RawLines(name string, of Source, add func(dst []byte, x *Item) ([]byte, int64, error)) Format {
	return Format{Name: name, Of: of, Lines: func(out io.Writer) Sink { return &lines{out: out, add: add} }}
}

// Table is a format of Parquet.
func Table[T any](name string, of Source, rows func(*Item) []T) Format {
	return Format{Name: name, Of: of, Table: func(out io.Writer) Sink { return &table[T]{parquet.NewWriter[T](out), rows} }}
}

// Either is a format of JSON Lines and of Parquet.
func Either[T any](name string, of Source, rows func(*Item) []T) Format {
	f := Lines(name, of, rows)
	f.Table = Table(name, of, rows).Table
	return f
}

// Noted adds a pair to the metadata of a format's Parquet files.
func (f Format) Noted(key, value string) Format {
	open := f.Table
	f.Table = func(out io.Writer) Sink {
		s := open(out)
		s.(interface{ Note(key, value string) }).Note(key, value)
		return s
	}
	return f
}

// Each makes at most one row of an item's rows.
func Each[T any](row func([]formats.Trajectory) (T, string)) func(*Item) []T {
	return func(x *Item) []T { return one(x, row)(x.Rows) }
}

// Pair makes at most one row of a preference.
func Pair[T any](row func(trl.Preference) (T, string)) func(*Item) []T {
	return func(x *Item) []T { return one(x, row)(x.Pair) }
}

// Single makes a row of a single answer.
func Single[T any](row func(trl.Unpaired) T) func(*Item) []T {
	return func(x *Item) []T { return []T{row(x.Single)} }
}

func one[From, T any](x *Item, row func(From) (T, string)) func(From) []T {
	return func(from From) []T {
		r, reason := row(from)
		if reason != "" {
			x.Skip(reason)
			return nil
		}
		return []T{r}
	}
}

type lines struct {
	out        io.Writer
	add        func(dst []byte, x *Item) ([]byte, int64, error)
	buf        []byte
	rows, size int64
}

func (l *lines) Give(x *Item) error {
	buf, n, err := l.add(l.buf[:0], x)
	if err != nil {
		return err
	}
	l.buf = buf
	l.rows += n
	l.size += int64(len(buf))
	_, err = l.out.Write(buf)
	return err
}

func (l *lines) Rows() int64  { return l.rows }
func (l *lines) Size() int64  { return l.size }
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

// Skipped counts items that gave no row, by reason.
type Skipped map[string]int64

// String says how often each reason was given.
func (s Skipped) String() string {
	var reasons []string
	for _, r := range slices.Sorted(maps.Keys(s)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", r, s[r]))
	}
	return strings.Join(reasons, ", ")
}
