package prove

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// rounding is the relative difference up to which two numbers are equal: processors differ
// in the last digits.
const rounding = 1e-9

// compare returns the first number of a dataset that is another in the one that was made
// again: tables of one rows digest are equal, and of others the rows are compared, as the
// files have them. In a dataset that is not sound the digests say nothing.
func compare(ctx context.Context, stored, made *dataset.Dataset, sound bool) (*Difference, error) {
	for _, name := range append([]string{""}, slices.Sorted(maps.Keys(stored.Tables))...) {
		if name == schema.TablePlan && (stored.Params[drawn] != nil || stored.Params["plan-mix"] != nil) {
			continue
		}
		was, is := stored.RowsDigest, made.RowsDigest
		if name != "" {
			was, is = stored.Tables[name].RowsDigest, made.Tables[name].RowsDigest
		}
		if sound && was == is {
			continue
		}
		undigested := []string{"payload_digest"} // the digest of others
		for _, c := range schema.Columns(cmp.Or(schema.Kind(name), stored.Kind)) {
			if c.Volatile {
				column, _, _ := strings.Cut(c.Path, ".")
				undigested = append(undigested, column)
			}
		}
		if d, err := same(rows(ctx, stored, name), rows(ctx, made, name), undigested...); err != nil {
			return nil, err
		} else if d != nil {
			return d.within(name), nil
		}
		if name != "" && was != is {
			return &Difference{Column: name, Stored: was.String(), Computed: is.String()}, nil
		}
	}
	return nil, nil
}

// row is a row with its columns as JSON.
type row = map[string]any

// rows yields the rows of a table from the files that the manifest names, whatever it says about them.
func rows(ctx context.Context, d *dataset.Dataset, table string) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		b, err := storage.Open(ctx, d.URI())
		if err != nil {
			yield(nil, err)
			return
		}
		for _, part := range d.PartsOf(table) {
			for r, err := range file(ctx, b, part.Name) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// file yields the rows of a Parquet file, whoever wrote them.
func file(ctx context.Context, b *storage.Bucket, name string) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		src, err := b.Open(ctx, name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer src.Close() // read only
		for text, err := range parquet.JSON(name, src, src.Size(), nil, nil) {
			var r row
			if err == nil {
				err = decode(text, &r)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// decode decodes JSON with its numbers as they are written.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(to)
}

// same returns the first number that differs, outside the columns without.
func same(stored, made iter.Seq2[row, error], without ...string) (*Difference, error) {
	next, stop := iter.Pull2(made)
	defer stop()
	n := int64(0)
	for r, err := range stored {
		if err != nil {
			return nil, err
		}
		other, err, more := next()
		if err != nil {
			return nil, err
		}
		if !more {
			return &Difference{Row: n, Column: "rows", Stored: "one more", Computed: n}, nil
		}
		for _, name := range without {
			delete(r, name)
			delete(other, name)
		}
		if d := values(r, other); d != nil {
			d.Row = n
			d.TrajectoryID, _ = r["trajectory_id"].(string)
			return d, nil
		}
		n++
	}
	if _, err, more := next(); err != nil || more {
		return &Difference{Row: n, Column: "rows", Stored: n, Computed: "one more"}, err
	}
	return nil, nil
}

// values compares two values of JSON. The column of the difference is relative to them.
func values(a, b any) *Difference {
	switch x := a.(type) {
	case row:
		if y, ok := b.(row); ok {
			return members(x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return lists(x, y)
		}
	case json.Number:
		if y, ok := b.(json.Number); ok && x != y {
			p, _ := x.Float64()
			q, _ := y.Float64()
			return unless(math.Abs(p-q) <= rounding*max(math.Abs(p), math.Abs(q)), a, b)
		}
	}
	return unless(reflect.DeepEqual(a, b), a, b)
}

func members(a, b row) *Difference {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if d := values(a[key], b[key]); d != nil {
			return d.within(key)
		}
	}
	return nil
}

// lists compares two lists. An element that has a name is called by it.
func lists(a, b []any) *Difference {
	for i := range min(len(a), len(b)) {
		if d := values(a[i], b[i]); d != nil {
			named, _ := a[i].(row)
			name, _ := named["name"].(string)
			return d.within(cmp.Or(name, fmt.Sprintf("[%d]", i)))
		}
	}
	return unless(len(a) == len(b), fmt.Sprint(len(a), " values"), fmt.Sprint(len(b), " values"))
}

// within puts the column below another.
func (d *Difference) within(outer string) *Difference {
	if outer != "" && d.Column != "" && d.Column[0] != '[' {
		outer += "."
	}
	d.Column = outer + d.Column
	return d
}

func unless(equal bool, stored, computed any) *Difference {
	if equal {
		return nil
	}
	return &Difference{Stored: stored, Computed: computed}
}

// typed yields the rows of a Parquet file as values of T: columns by name, whoever wrote them.
func typed[T any](ctx context.Context, b *storage.Bucket, name string, columns ...string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if err := each(ctx, b, name, columns, func(row *T) bool { return yield(row, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func each[T any](ctx context.Context, b *storage.Bucket, name string, columns []string, yield func(*T) bool) error {
	src, err := b.Open(ctx, name)
	if err != nil {
		return err
	}
	defer src.Close() // read only
	f, err := parquet.Open(src, src.Size(), name)
	if err != nil {
		return err
	}
	r, err := parquet.NewReader[T](f, 0, f.Rows())
	if err != nil {
		return err
	}
	defer r.Close()
	if len(columns) > 0 {
		r.Choose(func(l *layout.Leaf) bool { return l.Under(columns) })
	}
	for {
		buf := make([]T, atOnce)
		n, err := r.Read(buf)
		for i := range buf[:n] {
			if !yield(&buf[i]) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// atOnce is the number of rows that are decoded at once.
const atOnce = 64

// payloads returns the first row whose conversation is not the one that was recorded.
func payloads(ctx context.Context, d *dataset.Dataset) (*Difference, error) {
	b, err := storage.Open(ctx, d.URI())
	if err != nil {
		return nil, err
	}
	n := int64(0)
	for _, part := range d.PartsOf("") {
		for t, err := range typed[formats.Trajectory](ctx, b, part.Name) {
			if err != nil {
				return nil, err
			}
			written := t.PayloadDigest
			if t.SetPayloadDigest(); t.PayloadDigest != written {
				return &Difference{Row: n, TrajectoryID: t.TrajectoryID, Column: "payload_digest", Stored: written,
					Computed: t.PayloadDigest}, nil
			}
			n++
		}
	}
	return nil, nil
}
