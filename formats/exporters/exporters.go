// Package exporters converts curated groups to the rows that other trainers
// load: which formats there are, what each is made from, and how its files are
// written. It opens no files; the caller passes a writer for each.
//
// To add a format: add a line in formats/exporters/all.
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

// Format is a format of rows. It is written as JSON Lines, as Parquet, or as
// either; a function that does not apply is nil.
type Format struct {
	Name  string
	Of    Source
	Whole bool // the file must have every group, or none is written

	Lines func(io.Writer) Sink
	Table func(io.Writer) Sink
}

// Source is what the rows of a format are made from.
type Source string

// The sources.
const (
	Groups Source = "groups"
	Top    Source = "best members"      // of each group
	Pairs  Source = formats.TablePairs  // or each group's best member against its worst
	Labels Source = formats.TableLabels // or labels by the advantage
)

// Item is one element of a source.
type Item struct {
	Rows   []formats.Trajectory // of Groups and Top
	Pair   trl.Preference
	Single trl.Unpaired

	Before int64               // items before it in the file
	Given  int64               // rows before it in the file
	Skip   func(reason string) // reports why the item gives no row
}

// Sink writes one file.
type Sink interface {
	Give(x *Item) error
	Rows() int64
	Size() int64 // bytes so far, including those that are still to be written
	Close() error
}

// Lines returns a format of JSON Lines.
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

// RawLines returns a format that appends its own lines and returns their
// number.
func RawLines(name string, of Source, add func(dst []byte, x *Item) ([]byte, int64, error)) Format {
	return Format{Name: name, Of: of, Lines: func(out io.Writer) Sink { return &lines{out: out, add: add} }}
}

// Table returns a format of Parquet.
func Table[T any](name string, of Source, rows func(*Item) []T) Format {
	return Format{Name: name, Of: of, Table: func(out io.Writer) Sink { return &table[T]{parquet.NewWriter[T](out), rows} }}
}

// Either returns a format of JSON Lines and of Parquet.
func Either[T any](name string, of Source, rows func(*Item) []T) Format {
	f := Lines(name, of, rows)
	f.Table = Table(name, of, rows).Table
	return f
}

// Noted returns the format with a pair added to the metadata of its Parquet
// files.
func (f Format) Noted(key, value string) Format {
	open := f.Table
	f.Table = func(out io.Writer) Sink {
		s := open(out)
		s.(interface{ Note(key, value string) }).Note(key, value)
		return s
	}
	return f
}

// Each returns a function that makes at most one row from the rows of an item.
func Each[T any](row func([]formats.Trajectory) (T, string)) func(*Item) []T {
	return func(x *Item) []T { return one(x, row)(x.Rows) }
}

// Pair returns a function that makes at most one row from a preference.
func Pair[T any](row func(trl.Preference) (T, string)) func(*Item) []T {
	return func(x *Item) []T { return one(x, row)(x.Pair) }
}

// Single returns a function that makes a row from a single answer.
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

// Skipped counts the items that gave no row, by reason.
type Skipped map[string]int64

// String returns how often each reason occurred.
func (s Skipped) String() string {
	var reasons []string
	for _, r := range slices.Sorted(maps.Keys(s)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", r, s[r]))
	}
	return strings.Join(reasons, ", ")
}
