package group

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// keyed reads a range of rows with the key that each is grouped by. T has the
// columns that are read.
type keyed[T any] struct {
	rows reader[T]
	ids  func(*T) *ids
	by   *keyer   // nil: the example
	keys []string // of by
}

// openKeyed reads a range of the rows that are grouped.
func openKeyed[T any](ctx context.Context, in *input, r dataset.Range, of func(*T) *ids) (*keyed[T], error) {
	k := &keyed[T]{ids: of}
	var err error
	if k.rows, err = open[T](ctx, in, r); err != nil {
		return nil, err
	}
	if in.by != nil {
		k.by, err = in.by.open(ctx, in.base, r)
	}
	return k, err
}

// read is Read of dataset.Reader.
func (k *keyed[T]) read(rows []T) (int, error) {
	n, err := k.rows.Read(rows)
	if k.by == nil || n == 0 {
		return n, err
	}
	var bad error
	if k.keys, bad = k.by.read(n); bad != nil {
		return 0, bad
	}
	return n, err
}

// key returns the key of row i of the last read.
func (k *keyed[T]) key(i int, row *T) string {
	r := k.ids(row)
	key := r.ExampleID
	if k.by != nil {
		key = k.keys[i]
	}
	if r.ForkCall != nil {
		return formats.ForkKey(key, r.ForkedFrom, *r.ForkCall)
	}
	return key
}

func (k *keyed[T]) close() {
	_ = k.rows.Close() // it was only read
	if k.by != nil {
		k.by.close()
	}
}

// each calls f with every row, its position in the base and its key.
func (k *keyed[T]) each(first int64, f func(at int64, key string, row *T) error) error {
	buf := make([]T, 1024)
	for {
		n, err := k.read(buf)
		for i := range buf[:n] {
			if err := f(first, k.key(i, &buf[i]), &buf[i]); err != nil {
				return err
			}
			first++
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// eachKey calls f with the key of every row of a range, and reads nothing else.
func (src *input) eachKey(ctx context.Context, r dataset.Range, f func(at int64, key string, epoch int32) error) error {
	k, err := openKeyed(ctx, src, r, func(row *ids) *ids { return row })
	if err != nil {
		return err
	}
	defer k.close()
	return k.each(r.First, func(at int64, key string, row *ids) error { return f(at, key, row.Epoch) })
}

// hasher identifies groups by 128 bits.
type hasher struct{ buf []byte }

func (h *hasher) sum(key string, epoch int32) xxh3.Uint128 {
	h.buf = binary.BigEndian.AppendUint32(h.buf[:0], uint32(epoch))
	h.buf = append(h.buf, key...)
	return xxh3.Hash128(h.buf)
}
