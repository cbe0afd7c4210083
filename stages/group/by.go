package group

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

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
	for _, f := range reflect.VisibleFields(reflect.TypeFor[byColumns]()) {
		if name := f.Tag.Get("expr"); read(name) {
			b.columns = append(b.columns, name)
		}
	}
	return b, nil
}

// keyer computes the keys of the rows of a range, one after the other.
type keyer struct {
	*by
	base *dataset.Dataset
	next int64
	rows *dataset.Reader[formats.Trajectory]
	buf  []formats.Trajectory
	ctx  context.Context // of the stage, which ends an expression
	env  byColumns
	keys []string
}

func (b *by) open(ctx context.Context, base *dataset.Dataset, r dataset.Range) (*keyer, error) {
	rows, err := dataset.NewReaderOf[formats.Trajectory](ctx, base, r, b.columns)
	return &keyer{ctx: ctx, by: b, base: base, next: r.First, rows: rows}, err
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
			return nil, formats.Invalid(k.base.URI(), "give such rows a key, as in "+k.text+` ?? "none"`, err, "--by %q",
				k.text).InRow(k.next + int64(i))
		}
		k.keys = append(k.keys, key)
	}
	k.next += int64(n)
	return k.keys, nil
}

func (k *keyer) key(row *formats.Trajectory) (string, error) {
	if err := k.env.set(row); err != nil {
		return "", err
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

func (k *keyer) close() { _ = k.rows.Close() } // it was only read
