package group

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/expression"
)

// byExample is the default way to form groups.
const byExample = "example_id"

// by is an expression over the light columns of a wide row, and its example.
// Rows of one epoch with the same value are a group. A text is used unchanged,
// any other value as JSON.
type by struct {
	text    string
	program *expression.Program
	columns []string
}

// newBy compiles an expression; it returns nil for groups by example.
func newBy(text string) (*by, error) {
	if text == "" || text == byExample {
		return nil, nil
	}
	p, err := expression.Compile(text, byColumns{})
	if err != nil {
		return nil, usage("write a column or an expression, such as metadata.topic or policy_version",
			"group: --by %q: %w", text, err)
	}
	b := &by{text: text, program: p}
	read := expression.Reads(p)
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if read(name) {
			b.columns = append(b.columns, name)
		}
	}
	return b, nil
}

type opener func(context.Context, *dataset.Dataset, dataset.Range) (values, error)

// values are those of one column.
type values interface {
	read(n int) error
	put(i int, into *byColumns) error // value i of those last read
	close()
}

type valuesOf[T any] struct {
	r   *dataset.Reader[T]
	set func(*byColumns, *T) error
	buf []T
}

func column[T any](set func(*byColumns, *T)) opener {
	return parsed(func(e *byColumns, c *T) error { set(e, c); return nil })
}

func parsed[T any](set func(*byColumns, *T) error) opener {
	return func(ctx context.Context, base *dataset.Dataset, r dataset.Range) (values, error) {
		rows, err := dataset.NewReader[T](ctx, base, "", r)
		return &valuesOf[T]{r: rows, set: set}, err
	}
}

func (v *valuesOf[T]) read(n int) (err error) {
	v.buf, err = readNext(v.r, v.buf, n)
	return err
}

func (v *valuesOf[T]) put(i int, into *byColumns) error { return v.set(into, &v.buf[i]) }
func (v *valuesOf[T]) close()                           { _ = v.r.Close() } // it was only read

// keyer computes the keys of the rows of a range, one after the other.
type keyer struct {
	*by
	base   *dataset.Dataset
	next   int64
	values []values
	ctx    context.Context // of the stage, which ends an expression
	env    byColumns
	keys   []string
}

func (b *by) open(ctx context.Context, base *dataset.Dataset, r dataset.Range) (*keyer, error) {
	k := &keyer{ctx: ctx, by: b, base: base, next: r.First}
	for _, name := range b.columns {
		v, err := columns[name](ctx, base, r)
		if err != nil {
			return nil, err
		}
		k.values = append(k.values, v)
	}
	return k, nil
}

// read returns the keys of the next n rows, valid until the next call.
func (k *keyer) read(n int) ([]string, error) {
	for _, v := range k.values {
		if err := v.read(n); err != nil {
			return nil, err
		}
	}
	k.keys = k.keys[:0]
	for i := range n {
		key, err := k.key(i)
		if err != nil {
			e := formats.Invalid(k.base.URI(), "give such rows a key, as in "+k.text+` ?? "none"`, err, "--by %q", k.text)
			e.Row = k.next + int64(i)
			return nil, e
		}
		k.keys = append(k.keys, key)
	}
	k.next += int64(n)
	return k.keys, nil
}

func (k *keyer) key(i int) (string, error) {
	for _, v := range k.values {
		if err := v.put(i, &k.env); err != nil {
			return "", err
		}
	}
	value, err := k.program.Run(k.ctx, k.env)
	if err != nil {
		return "", err
	}
	switch value := value.(type) {
	case nil:
		return "", errors.New("it has no value")
	case string:
		return value, nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

func (k *keyer) close() {
	for _, v := range k.values {
		v.close()
	}
}
