package dataset

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// plainRowsOf returns plainRows of the rows' own type.
func plainRowsOf[T any](rd *Reader[T], head bool, without []string) partReader[T] {
	return plainRows(rd, head, func(row *T) reflect.Value { return reflect.ValueOf(row).Elem() }, reflect.TypeFor[T](), without)
}

// plainNamed returns plainRows of named columns.
func plainNamed(rd *Reader[reflect.Value], typ reflect.Type) partReader[reflect.Value] {
	return plainRows(rd, false, func(row *reflect.Value) reflect.Value {
		*row = reflect.New(typ).Elem()
		return *row
	}, typ, nil)
}

// plainRows returns what makes readers of rows of a file that no stage wrote.
// They read trajectories, fill in what these lack, and set those columns of a
// row that its type has and that are not to be left out.
func plainRows[T any](rd *Reader[T], head bool, into func(*T) reflect.Value, typ reflect.Type,
	without []string) partReader[T] {
	return func(f *parquet.File, first, rows int64) (rowReader[T], error) {
		moves, err := movesBetween(reflect.TypeFor[formats.Trajectory](), typ)
		if err != nil {
			return nil, fault.Invalid(f.Name(), "", nil, "%s", err)
		}
		columns := map[string]bool{}
		leavesOf(columns, "", typ, head)
		if len(without) > 0 {
			maps.DeleteFunc(columns, func(name string, _ bool) bool { return slices.Contains(without, name) })
			moves = slices.DeleteFunc(moves, func(m move) bool { return !under(columns, m.to.Name) })
		}
		_, has, err := parquet.NewForeignReader[plainRow](f, func(string) bool { return false }, 0, 0)
		if err == nil {
			err = checkMinimum(f, has)
		}
		if err != nil {
			return nil, err
		}
		r := &plainReader[T]{name: f.Name(), columns: plainColumns{has: has}, moves: moves, into: into, at: first}
		if columns["generation"] && !has["generation"] {
			made, err := rd.d.generations(rd.ctx)
			if err != nil {
				return nil, err
			}
			r.generations = made[rd.first+first:]
		}
		r.columns.want(columns)
		r.rows, _, err = parquet.NewForeignReader[plainRow](f, func(name string) bool { return r.columns.wanted[name] },
			first, rows)
		return r, err
	}
}

// plainReader reads rows of one file.
type plainReader[T any] struct {
	name        string // of the file
	rows        *parquet.Reader[plainRow]
	columns     plainColumns
	moves       []move
	into        func(*T) reflect.Value
	generations []int32 // of the next rows; nil when the file has them
	at          int64   // row of the file
	buf         []plainRow
}

// Read is part of rowReader.
func (r *plainReader[T]) Read(rows []T) (int, error) {
	if want := min(len(rows), 256); cap(r.buf) < want {
		r.buf = make([]plainRow, want)
	}
	done := 0
	for done < len(rows) {
		some := r.buf[:min(len(rows)-done, cap(r.buf))]
		n, err := r.rows.Read(some)
		for i := range some[:n] {
			t, bad := some[i].trajectory(&r.columns)
			if bad != nil {
				return done, fault.Invalid(r.name,
					"correct the row in the program that wrote it; `rollmill help datasets` says what the columns may have",
					nil, "%s", bad).InRow(r.at)
			}
			if r.generations != nil {
				t.Generation, r.generations = r.generations[0], r.generations[1:]
			}
			apply(r.moves, reflect.ValueOf(t).Elem(), r.into(&rows[done]))
			r.at++
			done++
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// Skip is part of rowReader.
func (r *plainReader[T]) Skip(rows int64) error {
	if r.generations != nil {
		r.generations = r.generations[rows:]
	}
	r.at += rows
	return r.rows.Skip(rows)
}

// Close is part of rowReader.
func (r *plainReader[T]) Close() error { return r.rows.Close() }

// leavesOf adds the columns of a row type, without the payload if head is true.
func leavesOf(out map[string]bool, prefix string, t reflect.Type, head bool) {
	for _, f := range schema.FieldsOf(t) {
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		switch {
		case head && f.Payload:
		case inner.Kind() == reflect.Struct:
			leavesOf(out, prefix+f.Name+".", inner, head)
		default:
			out[prefix+f.Name] = true
		}
	}
}

// move copies a column of a trajectory into a field of another row type.
type move struct {
	from, to schema.Field
	inner    []move // of the elements of lists that differ in type
}

// movesBetween returns what fills a row type from another one.
func movesBetween(from, to reflect.Type) ([]move, error) {
	source := map[string]schema.Field{}
	for _, f := range schema.FieldsOf(from) {
		source[f.Name] = f
	}
	var out []move
	for _, f := range schema.FieldsOf(to) {
		s, there := source[f.Name]
		m := move{from: s, to: f}
		switch {
		case !there && (f.Optional || f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Pointer):
			continue
		case !there:
			return nil, fmt.Errorf("has no column %s", f.Name)
		case s.Type == f.Type:
		case s.Type.Kind() == reflect.Slice && f.Type.Kind() == reflect.Slice && s.Type.Elem().Kind() == reflect.Struct &&
			f.Type.Elem().Kind() == reflect.Struct:
			var err error
			if m.inner, err = movesBetween(s.Type.Elem(), f.Type.Elem()); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("column %s cannot be read into a %s", f.Name, f.Type)
		}
		out = append(out, m)
	}
	return out, nil
}

// apply copies the columns of a row into another one.
func apply(moves []move, from, to reflect.Value) {
	for i := range moves {
		m := &moves[i]
		source, field := m.from.In(from), m.to.In(to)
		if m.from.Type == m.to.Type {
			field.Set(source)
			continue
		}
		field.Set(reflect.MakeSlice(m.to.Type, source.Len(), source.Len()))
		for j := range source.Len() {
			apply(m.inner, source.Index(j), field.Index(j))
		}
	}
}

// columnsNamed returns a struct type with the columns of a trajectory that have these
// names, or all columns for no names.
func columnsNamed(place string, names []string) (reflect.Type, error) {
	var known []string
	byName := map[string]schema.Field{}
	for _, f := range schema.FieldsOf(reflect.TypeFor[formats.Trajectory]()) {
		known = append(known, f.Name)
		byName[f.Name] = f
	}
	if len(names) == 0 {
		names = known
	}
	var fields []reflect.StructField
	seen := map[string]bool{}
	for _, name := range names {
		f, ok := byName[name]
		if !ok {
			return nil, fault.Invalid(place, fmt.Sprintf("its columns are %q", known), nil,
				"has no column %q", name)
		}
		if !seen[name] {
			fields = append(fields, reflect.StructField{Name: fmt.Sprint("C", len(fields)), Type: f.Type, Tag: f.Tag()})
		}
		seen[name] = true
	}
	return reflect.StructOf(fields), nil
}

// generations returns the generation of each row of files without that column:
// how many rows of its example and epoch are before it. It reads these two
// columns of all files once.
func (d *Dataset) generations(ctx context.Context) ([]int32, error) {
	d.plain.once.Do(func() {
		type key struct {
			ExampleID string `parquet:"example_id"`
			Epoch     int32  `parquet:"epoch"`
		}
		next := map[key]int32{}
		for row, err := range Each[key](ctx, d, "", d.All()) {
			if err != nil {
				d.plain.err = err
				return
			}
			n, seen := next[*row]
			if !seen {
				row.ExampleID = string([]byte(row.ExampleID)) // the old one keeps its page in memory
			}
			next[*row] = n + 1
			d.plain.made = append(d.plain.made, n)
		}
	})
	return d.plain.made, d.plain.err
}

// verifyPlain reads all rows of a dataset whose parts another tool wrote, and
// compares its files with the manifest.
func (d *Dataset) verifyPlain(ctx context.Context) error {
	for _, p := range d.Parts {
		if err := d.verifyBytes(ctx, p); err != nil {
			return err
		}
	}
	for _, err := range Each[formats.Trajectory](ctx, d, "", d.All()) {
		if err != nil {
			return err
		}
	}
	return nil
}
