package importers

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/storage/fault"
)

// Cut cuts a file into records, until yield returns false.
type Cut func(f File, yield func(Record) bool) error

// All yields the records of a file. An error ends them: the file cannot be read.
func (c Cut) All(f File) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		more := true
		err := c(f, func(r Record) bool {
			more = yield(r, nil)
			return more
		})
		if err != nil && more {
			yield(Record{}, err)
		}
	}
}

// Rows cuts a file of rows into one record a row, a JSON object: Parquet, JSON
// lines, JSON arrays and CSV, by the extension of the name. Structs of Parquet and Arrow
// are without their nulls; those of JSON stay, and Nulls says that datasets added them.
var Rows Cut = func(f File, yield func(Record) bool) error {
	var dropped, before int64
	var unread []jsontext.Lost
	file := records.File{Name: f.Name, R: f.R, Size: f.Size, Nulls: &dropped, Unread: &unread, Documents: true}
	nulls := addedNulls(file)
	var n int64
	for row, err := range file.Read("") {
		if err != nil {
			return err
		}
		for piece, lost := range f.Pieces(row.Object) {
			r := Record{Data: piece, Row: n, Line: row.Line, Nulls: nulls, Options: f.Options, Dropped: dropped - before}
			r.LoseAll(unread)
			for _, member := range lost {
				r.Lose(member, "it is beside the records of a document, and too long to be repeated in each")
			}
			if before = dropped; !yield(r) {
				return nil
			}
			n++
		}
	}
	return nil
}

// MaxDocument bounds the size of a file that is one record.
const MaxDocument = 512 << 20

// Document makes the whole file one record.
func Document(f File, yield func(Record) bool) error {
	data, err := ReadDocument(f)
	if err == nil {
		yield(Record{Data: data, Options: f.Options})
	}
	return err
}

func ReadDocument(f File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(records.File{Name: f.Name, R: f.R, Size: f.Size,
		Buffer: int(min(f.Size+1, 1<<20))}.Reader(), MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", f.Name, err)
	}
	if len(data) > MaxDocument {
		return nil, fault.Invalid(f.Name, "split it, one document a file", nil, "the document is longer than %d MiB", MaxDocument>>20)
	}
	return data, nil
}

// ByExtension cuts files of some extensions in their own way, and others as
// otherwise does.
func ByExtension(otherwise Cut, own map[string]Cut) Cut {
	return func(f File, yield func(Record) bool) error {
		if cut, ok := own[records.Extension(f.Name)]; ok {
			return cut(f, yield)
		}
		return otherwise(f, yield)
	}
}

// maxBeside bounds each member that the records of one document repeat: those beside their list.
const maxBeside = 64 << 10

// paths returns the columns of --map that may be within other columns, as info.score is.
func (o *Options) paths() []string {
	if o == nil || len(o.Map) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Values(o.Map)), func(column string) bool { return !strings.Contains(column, ".") })
}

// Pieces cuts a row where a path of --map goes through a list of objects, such as
// simulations.messages: each of them is a record, with what is beside the list. lost are
// members that would be too much to repeat.
func (o *Options) Pieces(row []byte) iter.Seq2[[]byte, []string] {
	return func(yield func(piece []byte, lost []string) bool) { pieces(row, nil, o.paths(), yield) }
}

func pieces(row []byte, lost, paths []string, yield func([]byte, []string) bool) bool {
	for _, path := range paths {
		names := strings.Split(path, ".")
		list := row
		for n := range names[:len(names)-1] {
			if list = jsontext.ParseObject(list).Get(names[n]); len(list) == 0 || list[0] != '[' {
				continue
			}
			out := slices.Clip(lost)
			before, after, _ := bytes.Cut(with(row, names[:n+1], here, &out), here)
			for e := range jsontext.Elements(list) {
				if !pieces(slices.Concat(before, e, after), out, paths, yield) {
					return false
				}
			}
			return true
		}
	}
	return yield(row, lost)
}

// here is a place in a text: no JSON has such a byte.
var here = []byte{0}

// with returns an object with another value at a path.
func with(object []byte, path []string, v []byte, lost *[]string) []byte {
	if len(path) == 0 {
		return v
	}
	var out jsontext.Object
	for _, m := range jsontext.ParseObject(object) {
		if m.Key == path[0] {
			m.Raw = with(m.Raw, path[1:], v, lost)
		} else if len(m.Raw) > maxBeside {
			*lost = append(*lost, m.Key)
			continue
		}
		out = append(out, m)
	}
	return out.Bytes()
}

// lift makes what the paths name columns of their own.
func lift(row []byte, paths []string) []byte {
	for _, path := range paths {
		o := jsontext.ParseObject(row)
		if o == nil || o.Get(path) != nil {
			continue
		}
		if v := take(&o, strings.Split(path, ".")); v != nil {
			o.Set(path, v)
			row = o.Bytes()
		}
	}
	return row
}

// take takes a member out of an object; nil if it is not there.
func take(o *jsontext.Object, path []string) []byte {
	v := o.Get(path[0])
	if len(path) == 1 {
		o.Drop(path[0])
		return v
	}
	inner := jsontext.ParseObject(v)
	if v = take(&inner, path[1:]); v != nil {
		o.Set(path[0], inner.Bytes())
	}
	return v
}
