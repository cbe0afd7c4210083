package group

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/storage/fault"
)

// byExample is the default way to form groups.
const byExample = "example_id"

// By is an expression whose value tells things apart: rows of one epoch with the same
// value are a group, those of a group a part of it, and messages may answer the same
// state. A text is used unchanged, any other value as JSON.
type By struct {
	flag, text string              // --by, and what it was given
	program    *expression.Program // nil: the beginning of a row
	columns    []string            // of the environment; by rows, of the base
}

// NewBy compiles the expression of a flag over the light columns of a wide row, and its
// example. The error is of kind usage.
func NewBy(flag, text string) (*By, error) {
	return compile[byColumns](flag, text, "write a column or an expression, such as metadata.topic or policy_version")
}

func compile[T any](flag, text, hint string) (*By, error) {
	p, err := expression.Compile(text, *new(T))
	if err != nil {
		return nil, usage(hint, "group: %s %q: %w", flag, text, err)
	}
	b := &By{flag: flag, text: text, program: p}
	read := expression.Reads(p)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name := f.Tag.Get("expr"); read(name) {
			b.columns = append(b.columns, name)
		}
	}
	return b, nil
}

// keyer computes the keys of the rows of a range, one after the other.
type keyer struct {
	*By
	base *dataset.Dataset
	next int64
	rows *dataset.Reader[formats.Trajectory]
	buf  []formats.Trajectory
	ctx  context.Context // of the stage, which ends an expression
	env  byColumns
	keys []string
}

func (b *By) open(ctx context.Context, base *dataset.Dataset, r dataset.Range) (*keyer, error) {
	rows, err := dataset.NewReaderOf[formats.Trajectory](ctx, base, r, b.columns)
	return &keyer{ctx: ctx, By: b, base: base, next: r.First, rows: rows}, err
}

// read returns the keys of the next n rows, valid until the next call.
func (k *keyer) read(n int) ([]string, error) {
	var err error
	if k.buf, err = readNext(k.rows, k.buf, n); err != nil {
		return nil, err
	}
	k.keys = k.keys[:0]
	for i := range k.buf {
		key, err := k.key(&k.buf[i])
		if err != nil {
			return nil, fault.Invalid(k.base.URI(), "give such rows a key, as in "+k.text+` ?? "none"`, err, "%s %q",
				k.flag, k.text).InRow(k.next + int64(i))
		}
		k.keys = append(k.keys, key)
	}
	k.next += int64(n)
	return k.keys, nil
}

func (k *keyer) key(row *formats.Trajectory) (string, error) {
	if k.program == nil {
		return beginning(row), nil
	}
	if err := k.env.set(row); err != nil {
		return "", err
	}
	return k.value(k.ctx, k.env)
}

// value returns the value for an environment.
func (b *By) value(ctx context.Context, env any) (string, error) {
	value, err := b.program.Run(ctx, env)
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

func (k *keyer) close() { _ = k.rows.Close() } // it was only read
