package dataset

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Reader reads rows of a table in order. T is a row kind of package formats,
// or any struct with some of its columns (same parquet tags): only those
// columns are fetched and decoded. A Reader is for one goroutine.
type Reader[T any] struct {
	ctx   context.Context
	d     *Dataset
	parts []manifest.Part
	next  int64 // row to read, in the table
	end   int64
	rows  partReader[T]
	part  int   // index of the part that is or will be open
	first int64 // its first row
	src   storage.Reader
	cur   rowReader[T]
	done  int64 // rows of the table before this one are not used any more: see Done
	texts bool
	ahead opening
	begun map[int]partReading[T] // parts whose rows are fetched before their turn
}

// partReading is what reads the rows of a part.
type partReading[T any] struct {
	cur rowReader[T]
	err error
}

func (p *partReading[T]) close() {
	if p.err == nil {
		p.cur.Close()
	}
}

// partReader returns a reader of rows [first, first+rows) of a part.
type partReader[T any] func(f *parquet.File, first, rows int64) (rowReader[T], error)

type rowReader[T any] interface {
	Read(rows []T) (int, error)
	Skip(rows int64) error
	Close() error
}

// NewReader reads a range of rows of a table; table "" is the main one.
func NewReader[T any](ctx context.Context, d *Dataset, table string, r Range) (*Reader[T], error) {
	return newReader[T](ctx, d, table, r, nil)
}

// newReader returns a reader of the columns that are wanted; nil: of all.
func newReader[T any](ctx context.Context, d *Dataset, table string, r Range, wanted func(*layout.Leaf) bool) (*Reader[T], error) {
	t, ok := d.TableOf(table)
	if !ok {
		has := cmp.Or(strings.Join(slices.Sorted(maps.Keys(d.Tables)), ", "), "none")
		return nil, fault.Invalid(d.URI(), "its further tables: "+has, nil, "has no table %q", table)
	}
	if d.Removed(table) {
		return nil, fault.Invalid(d.URI(), "make the dataset again, with --overwrite", nil, "table %q was removed by prune", table)
	}
	if r.First < 0 || r.Rows < 0 || r.First > t.Rows || r.Rows > t.Rows-r.First {
		return nil, fault.Invalid(d.URI(), "", nil,
			"rows %d to %d are not among its %d", r.First, r.First+r.Rows, t.Rows)
	}
	rd := &Reader[T]{ctx: ctx, d: d, parts: d.PartsOf(table), next: r.First, end: r.First + r.Rows}
	rd.rows = func(f *parquet.File, first, rows int64) (rowReader[T], error) {
		r, err := parquet.NewReader[T](f, first, rows)
		if err == nil && wanted != nil {
			r.Choose(wanted)
		}
		return r, err
	}
	return rd, nil
}

// NewHeadReader reads rows of the main table of a wide dataset without their
// payload, which is neither fetched nor decoded. Nor are the columns named, and
// those below them.
func NewHeadReader[T any](ctx context.Context, d *Dataset, r Range, without ...string) (*Reader[T], error) {
	return newReader[T](ctx, d, "", r, func(l *layout.Leaf) bool { return !l.Payload && !l.Under(without) })
}

// NewReaderOf reads rows of the main table with only the columns named, and those below
// them: no others are fetched or decoded, and their fields stay zero.
func NewReaderOf[T any](ctx context.Context, d *Dataset, r Range, columns []string) (*Reader[T], error) {
	return newReader[T](ctx, d, "", r, func(l *layout.Leaf) bool { return l.Under(columns) })
}

// NewColumnReader reads columns of a table by name, or all columns for no names:
// only these are fetched and decoded. A row is a struct with a field for each
// column. Values have the types of the file, so no row type is needed, and columns
// of a newer minor version can be read.
func NewColumnReader(ctx context.Context, d *Dataset, table string, r Range,
	names []string) (*Reader[reflect.Value], error) {
	rd, err := NewReader[reflect.Value](ctx, d, table, r)
	if err != nil {
		return nil, err
	}
	rd.rows = func(f *parquet.File, first, rows int64) (rowReader[reflect.Value], error) {
		return reader.NewNamedReader(f, names, first, rows)
	}
	return rd, nil
}

// Read fills rows and returns how many it set, and io.EOF after the last row. A
// damaged part is a fault.Error with part and row.
func (r *Reader[T]) Read(rows []T) (int, error) {
	n := 0
	for n < len(rows) {
		if err := r.ctx.Err(); err != nil {
			return n, err
		}
		if r.next >= r.end {
			return n, io.EOF
		}
		if r.cur == nil {
			if err := r.open(); err != nil {
				return n, err
			}
		}
		want := min(int64(len(rows)-n), r.end-r.next)
		k, err := r.cur.Read(rows[n : n+int(want)])
		n += k
		r.next += int64(k)
		if errors.Is(err, io.EOF) {
			err = r.advance()
		}
		if err != nil {
			return n, r.explain(err)
		}
	}
	return n, nil
}

// Skip skips rows, of which it decodes as little as it can. It returns io.EOF if
// there are not as many.
func (r *Reader[T]) Skip(rows int64) error {
	if rows > r.end-r.next {
		return io.EOF
	}
	if r.cur == nil || rows >= r.first+r.parts[r.part].Rows-r.next {
		r.next += rows
		return r.closePart()
	}
	if err := r.cur.Skip(rows); err != nil {
		return r.explain(err)
	}
	r.next += rows
	return nil
}

// explain returns a better error if the part was removed while it was read.
func (r *Reader[T]) explain(err error) error {
	if errors.Is(err, storage.ErrNotExist) {
		return r.d.explain(r.ctx, r.parts[r.part], err)
	}
	return err
}

// open opens the part that holds the next row.
func (r *Reader[T]) open() error {
	for r.first+r.parts[r.part].Rows <= r.next {
		if of, begun := r.begun[r.part]; begun { // and its rows are skipped
			of.close()
			delete(r.begun, r.part)
		}
		r.first += r.parts[r.part].Rows
		r.part++
	}
	p := r.parts[r.part]
	src, f, err := r.ahead.Take(r.ctx, r.d, r.parts, r.part, r.end-r.first)
	if err != nil {
		return err
	}
	first := r.next - r.first
	of, begun := r.begun[r.part]
	if delete(r.begun, r.part); !begun {
		of = r.begin(f, r.part, first, min(p.Rows-first, r.end-r.next))
	} else if of.err == nil && first > 0 {
		if of.err = of.cur.Skip(first); of.err != nil {
			of.cur.Close()
		}
	}
	if of.err != nil {
		return errors.Join(r.explain(of.err), src.Close())
	}
	r.src, r.cur = src, of.cur
	r.Done(r.done, r.texts)
	return nil
}

// begin makes what reads rows of a part. Once it has begun to fetch these, it
// goes on with the next part that is open by then, in the same memory.
func (r *Reader[T]) begin(f *parquet.File, part int, first, rows int64) (of partReading[T]) {
	of.cur, of.err = r.rows(f, first, rows)
	if this, follows := of.cur.(reader.Follower); follows && of.err == nil {
		this.PrefetchNext(func() reader.Follower { return r.beginNext(part) })
	}
	return of
}

// beginNext begins the part after one, if it is open, and returns its reader.
func (r *Reader[T]) beginNext(part int) reader.Follower {
	left := r.end - r.first // from the beginning of the open part
	for i := r.part; i <= part; i++ {
		left -= r.parts[i].Rows
	}
	for part++; part < len(r.parts) && r.parts[part].Rows == 0; part++ {
	}
	f := r.ahead.ready(part)
	if _, failed := r.begun[part]; f == nil || left <= 0 || failed {
		return nil
	}
	of := r.begin(f, part, 0, min(r.parts[part].Rows, left))
	if r.begun == nil {
		r.begun = map[int]partReading[T]{}
	}
	r.begun[part] = of
	next, _ := of.cur.(reader.Follower)
	return next
}

// Done tells the reader that rows before this one, of the table, are not used any
// more: the memory of their tokens is used again, and with texts that of their
// strings.
func (r *Reader[T]) Done(row int64, texts bool) {
	r.done, r.texts = row, texts
	if cur, is := r.cur.(interface{ Done(row int64, texts bool) }); is && row > 0 {
		cur.Done(max(row-r.first, 0), texts)
	}
}

func (d *Dataset) place(p manifest.Part) string { return storage.Join(d.Bucket.URI(), p.Name) }

// fetchAhead is how many bytes of a part in an object store are in memory while it is read.
const fetchAhead = 48 << 20

// OpenPart opens a part and compares it with the manifest. It takes the size
// from the manifest, which saves a request.
func (d *Dataset) OpenPart(ctx context.Context, p manifest.Part) (storage.Reader, *parquet.File, error) {
	place := d.place(p)
	src, err := d.Bucket.OpenSized(ctx, p.Name, p.Bytes)
	if err != nil {
		return nil, nil, d.explain(ctx, p, err)
	}
	var f *parquet.File
	if d.Local() {
		f, err = d.footers.local(src, p, place)
	} else {
		f, err = d.footers.remote(src, p, place)
	}
	if err != nil {
		src.Close()
		return nil, nil, d.explain(ctx, p, err)
	}
	if err := d.checkPart(f, p, place); err != nil {
		src.Close()
		return nil, nil, err
	}
	return src, f, nil
}

// checkPart compares a part's footer with the manifest and with the schema of
// its writer. A missing column must be one that was added later; otherwise its
// rows would be read as if it were null.
func (d *Dataset) checkPart(f *parquet.File, p manifest.Part, place string) error {
	if f.Rows() != p.Rows {
		return fault.Invalid(place, "", nil, "the part has %d rows; the manifest says %d", f.Rows(), p.Rows)
	}
	if f.FooterDigest() != p.Footer {
		return fault.Invalid(place, "the part is damaged, or was written again by another program", nil,
			"the part's footer has digest %s; the manifest says %s", f.FooterDigest(), p.Footer)
	}
	footer, err := schema.ParseFooter(f.KeyValue(schema.FooterKey))
	if err != nil {
		return fault.Invalid(place, "", err, "the footer's metadata %q is damaged", schema.FooterKey)
	}
	footer.Schema = cmp.Or(footer.Schema, d.Schema)
	table, _ := path.Split(p.Name)
	if name := schema.Missing(d.KindOf(strings.TrimSuffix(table, "/")), footer.Schema, f.Columns()); name != "" {
		return fault.Invalid(place, "", nil, "has no column %s, which schema %s has", name, footer.Schema)
	}
	return nil
}

// explain distinguishes a part that is gone or was replaced from one that could not be read.
func (d *Dataset) explain(ctx context.Context, p manifest.Part, err error) error {
	place := d.place(p)
	o, statErr := d.Bucket.Stat(ctx, p.Name)
	switch {
	case errors.Is(statErr, storage.ErrNotExist):
		now, err := seal.ReadCurrent(ctx, d.Bucket)
		switch {
		case err == nil && manifest.PrunedIn(now.Damage) != nil:
			return now.Damage
		case err == nil && now.Replaced(p.Name):
			return fault.Invalid(place, "run the command again: the rows are in other parts", statErr,
				"the dataset was compacted since it was opened, and the part is gone")
		}
		return fault.Invalid(place, "", statErr, "the part is gone")
	case statErr == nil && o.Size != p.Bytes:
		return fault.Invalid(place, "", nil, "the part has %d bytes; the manifest says %d", o.Size, p.Bytes)
	}
	return err
}

// advance closes the part after its last row.
func (r *Reader[T]) advance() error {
	if p := r.parts[r.part]; r.next < r.end && r.next < r.first+p.Rows {
		return fault.Invalid(r.d.place(p), "", nil, "the part ended at row %d of %d", r.next-r.first, p.Rows)
	}
	return r.closePart()
}

func (r *Reader[T]) Close() error {
	for _, of := range r.begun {
		of.close()
	}
	r.begun = nil
	r.ahead.drop()
	return r.closePart()
}

func (r *Reader[T]) closePart() error {
	if r.cur == nil {
		return nil
	}
	err := errors.Join(r.cur.Close(), r.src.Close())
	r.cur, r.src = nil, nil
	return err
}

func (r *Reader[T]) Take(n int64) ([]T, error) {
	rows, err := reader.ReadAll(func(rows []T) (int, error) {
		k, err := r.Read(rows[:min(n, int64(len(rows)))])
		if n -= int64(k); err == nil && n == 0 {
			err = io.EOF
		}
		return k, err
	}, n)
	if err == nil && n > 0 {
		err = io.ErrUnexpectedEOF
	}
	return rows, err
}

// TakeAt skips to a row of the table that was not read, and reads n rows.
func (r *Reader[T]) TakeAt(row, n int64) ([]T, error) {
	if err := r.Skip(row - r.next); err != nil {
		return nil, err
	}
	return r.Take(n)
}
