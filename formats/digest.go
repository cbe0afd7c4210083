package formats

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// RowsDigest sums the digests of rows, in any order and from any number of
// shards: equal sums mean equal rows (a multiset; every row kind carries its
// ids, so order adds nothing). It is XXH3-128 per row, added modulo 2^128: a
// guard against accidents, not against forgers.
type RowsDigest struct {
	hi, lo uint64
	rows   uint64
}

// Add counts one row's digest in.
func (d *RowsDigest) Add(row xxh3.Uint128) {
	var carry uint64
	d.lo, carry = bits.Add64(d.lo, row.Lo, 0)
	d.hi, _ = bits.Add64(d.hi, row.Hi, carry)
	d.rows++
}

// Merge counts another digest's rows in.
func (d *RowsDigest) Merge(o RowsDigest) {
	var carry uint64
	d.lo, carry = bits.Add64(d.lo, o.lo, 0)
	d.hi, _ = bits.Add64(d.hi, o.hi, carry)
	d.rows += o.rows
}

// String is "<rows>-<32 hex digits>".
func (d RowsDigest) String() string { return fmt.Sprintf("%d-%016x%016x", d.rows, d.hi, d.lo) }

// Rows is how many rows were counted.
func (d RowsDigest) Rows() int64 { return int64(d.rows) }

// MarshalText writes String.
func (d RowsDigest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads String.
func (d *RowsDigest) UnmarshalText(b []byte) error {
	var read RowsDigest
	if _, err := fmt.Sscanf(string(b), "%d-%16x%16x", &read.rows, &read.hi, &read.lo); err != nil {
		return fmt.Errorf("rows digest %q: %w", b, err)
	}
	if read.String() != string(b) {
		return fmt.Errorf("rows digest %q is not <rows>-<32 hex digits>", b)
	}
	*d = read
	return nil
}

// Digest hashes one row of any kind without its volatile columns. A wide
// row's payload counts through its PayloadDigest, which must be set.
func Digest[T any](row *T) xxh3.Uint128 {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	h.buf = h.buf[:0]
	h.object(reflect.ValueOf(row).Elem(), skipPayload)
	return xxh3.Hash128(h.buf)
}

// SetPayloadDigest fills in t.PayloadDigest from the payload columns.
func (t *Trajectory) SetPayloadDigest() {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	h.buf = h.buf[:0]
	h.object(reflect.ValueOf(t).Elem(), onlyPayload)
	sum := xxh3.Hash128(h.buf).Bytes()
	t.PayloadDigest = hex.EncodeToString(sum[:])
}

// HasPayloadDigest tells whether t.PayloadDigest was set.
func (t *Trajectory) HasPayloadDigest() bool { return len(t.PayloadDigest) == 32 }

type part int

const (
	skipPayload part = iota // volatile fields are always skipped
	onlyPayload
	everything
)

// hasher lays a row out as bytes: fields in order, lengths before lists and
// strings, a presence byte before what may be null.
type hasher struct{ buf []byte }

var hashers = sync.Pool{New: func() any { return &hasher{buf: make([]byte, 0, 1<<16)} }}

func (h *hasher) uint(n uint64) { h.buf = binary.LittleEndian.AppendUint64(h.buf, n) }

func (h *hasher) object(v reflect.Value, p part) {
	for _, f := range fieldsOf(v.Type()) {
		if p == skipPayload && f.payload || p == onlyPayload && !f.payload {
			continue
		}
		h.value(v.Field(f.index))
	}
}

func (h *hasher) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		h.uint(uint64(v.Len()))
		h.buf = append(h.buf, v.String()...)
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		h.uint(n)
	case reflect.Int32, reflect.Int64, reflect.Int:
		h.uint(uint64(v.Int()))
	case reflect.Float32, reflect.Float64:
		h.uint(math.Float64bits(v.Float()))
	case reflect.Pointer:
		if v.IsNil() {
			h.uint(0)
			return
		}
		h.uint(1)
		h.value(v.Elem())
	case reflect.Slice:
		h.slice(v)
	case reflect.Struct:
		h.object(v, everything)
	default:
		panic("formats: no digest for " + v.Type().String())
	}
}

func (h *hasher) slice(v reflect.Value) {
	n := v.Len()
	h.uint(uint64(n))
	if n == 0 {
		return // a null list and an empty one are the same rows
	}
	switch k := v.Type().Elem().Kind(); k {
	case reflect.Int32, reflect.Float32, reflect.Float64, reflect.Int64, reflect.Uint8:
		size := n * int(v.Type().Elem().Size())
		h.buf = append(h.buf, unsafe.Slice((*byte)(v.UnsafePointer()), size)...)
	default:
		for i := range n {
			h.value(v.Index(i))
		}
	}
}

type field struct {
	index   int
	payload bool
}

var fieldCache sync.Map // reflect.Type -> []field

func fieldsOf(t reflect.Type) []field {
	if f, ok := fieldCache.Load(t); ok {
		return f.([]field)
	}
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("rollmill")
		if !f.IsExported() || strings.Contains(tag, "volatile") {
			continue
		}
		out = append(out, field{i, strings.Contains(tag, "payload")})
	}
	fieldCache.Store(t, out)
	return out
}
