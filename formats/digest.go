package formats

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe" // hashes fields of rows of any type, by their offsets

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/schema"
)

// RowsDigest is the sum of the digests of rows, in any order and from any
// number of shards: equal sums mean equal rows (a multiset; every row kind
// contains its ids, so the order adds nothing). It protects against accidents,
// not against forgery.
//
// A row's digest is the XXH3-128 (seed 0) of the bytes described below, where
// u64(n) is n as 8 bytes, little-endian:
//
//   - A row is its columns that have a value, ordered by the bytes of their
//     names, and u64(0) after the last. A column is u64(XXH3-64 of its name,
//     without the names above it) and its value. Left out are: columns that
//     are null, or an empty string or list, or a group of columns of which
//     none has a value; volatile columns; and of a wide row the payload
//     columns.
//   - A string is u64(its length in bytes) and its bytes. A boolean is u64(0)
//     or u64(1). An integer or a timestamp is u64(it), sign-extended. A
//     float32 or float64 is u64(the bits of it as a float64).
//   - A list is u64(its length) and its elements: a number in its own width,
//     little-endian, any other as above. A group of columns is as a row is,
//     and so is an element that is one.
//
// payload_digest is the XXH3-128 of the bytes of a row with the payload
// columns alone: 32 hex digits, the high half first. It is itself a column of
// the row, so the row's digest covers the payload through it. Which columns
// are volatile or payload, the part's footer says: see schema.Footer.
//
// The digest of rows is the sum of their digests modulo 2^128, written as
// "<rows>-<32 hex digits>".
type RowsDigest struct {
	hi, lo uint64
	rows   uint64
}

func (d *RowsDigest) Add(row xxh3.Uint128) {
	var carry uint64
	d.lo, carry = bits.Add64(d.lo, row.Lo, 0)
	d.hi, _ = bits.Add64(d.hi, row.Hi, carry)
	d.rows++
}

// AddRows adds the digests of rows of any kind.
func AddRows[T any](d *RowsDigest, rows []T) {
	h, p := hashers.Get().(*hasher), planOf(reflect.TypeFor[T]())
	defer hashers.Put(h)
	for i := range rows {
		d.Add(sum(h, p, &rows[i], skipPayload))
	}
}

// Merge adds another digest's rows.
func (d *RowsDigest) Merge(o RowsDigest) {
	var carry uint64
	d.lo, carry = bits.Add64(d.lo, o.lo, 0)
	d.hi, _ = bits.Add64(d.hi, o.hi, carry)
	d.rows += o.rows
}

// String returns "<rows>-<32 hex digits>".
func (d RowsDigest) String() string { return fmt.Sprintf("%d-%016x%016x", d.rows, d.hi, d.lo) }

// Rows returns the number of rows that were added.
func (d RowsDigest) Rows() int64 { return int64(d.rows) }

func (d RowsDigest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

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

// Digest returns the digest of one row of any kind without its volatile
// columns. It covers the payload of a wide row through its PayloadDigest, which
// must be set.
func Digest[T any](row *T) xxh3.Uint128 {
	return digest(row, skipPayload)
}

// SetPayloadDigest sets t.PayloadDigest from the payload columns.
func (t *Trajectory) SetPayloadDigest() { t.PayloadDigest = PayloadDigest(t) }

// PayloadDigest returns the digest of a row's payload columns.
func PayloadDigest[T any](row *T) string {
	sum := digest(row, onlyPayload).Bytes()
	return string(hex.AppendEncode(make([]byte, 0, 2*len(sum)), sum[:]))
}

func (t *Trajectory) HasPayloadDigest() bool { return len(t.PayloadDigest) == 32 }

type part int

const (
	skipPayload part = iota // volatile fields are always skipped
	onlyPayload
	everything
)

// hasher encodes a row as bytes: see RowsDigest.
type hasher struct{ buf []byte }

var hashers = sync.Pool{New: func() any { return &hasher{buf: make([]byte, 0, 1<<16)} }}

func (h *hasher) uint(n uint64) { h.buf = binary.LittleEndian.AppendUint64(h.buf, n) }

func digest[T any](row *T, of part) xxh3.Uint128 {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	return sum(h, planOf(reflect.TypeFor[T]()), row, of)
}

func sum[T any](h *hasher, p *plan, row *T, of part) xxh3.Uint128 {
	h.buf = h.buf[:0]
	h.fields(p, unsafe.Pointer(row), of)
	return xxh3.Hash128(h.buf)
}

// fields encodes those fields of the struct at p that the digest of a part covers.
func (h *hasher) fields(p *plan, at unsafe.Pointer, of part) {
	for i := range p.fields {
		f := &p.fields[i]
		if f.word != never && *(*uintptr)(unsafe.Add(at, f.word)) == 0 {
			continue
		}
		if of != everything && f.payload != (of == onlyPayload) {
			continue
		}
		at := unsafe.Add(at, f.off)
		if f.rare {
			h.field(f, at)
		} else {
			h.uint(f.name)
			h.value(f.plan, at)
		}
	}
	h.uint(0)
}

// field encodes a field of any type.
func (h *hasher) field(f *planField, at unsafe.Pointer) {
	if f.absent(at) || f.rare && f.scalar() && reflect.NewAt(f.typ, at).Elem().IsZero() {
		return
	}
	from := len(h.buf)
	h.uint(f.name)
	h.value(f.plan, at)
	if f.kind == reflect.Struct {
		h.dropEmpty(from)
	}
}

// dropEmpty removes the group of columns that begins at from when none of them has a value.
func (h *hasher) dropEmpty(from int) {
	if len(h.buf) == from+2*8 {
		h.buf = h.buf[:from]
	}
}

// absent reports whether the field at p is null, or a value that counts as null.
func (f *planField) absent(at unsafe.Pointer) bool {
	switch f.kind {
	case reflect.String:
		return len(*(*string)(at)) == 0
	case reflect.Slice:
		return len(*(*[]byte)(at)) == 0 // every slice has its length at this offset
	case reflect.Pointer:
		return *(*unsafe.Pointer)(at) == nil
	}
	return false
}

func (h *hasher) value(p *plan, at unsafe.Pointer) {
	switch p.kind {
	case reflect.String:
		s := *(*string)(at)
		h.uint(uint64(len(s)))
		h.buf = append(h.buf, s...)
	case reflect.Bool:
		n := uint64(0)
		if *(*bool)(at) {
			n = 1
		}
		h.uint(n)
	case reflect.Int32:
		h.uint(uint64(*(*int32)(at)))
	case reflect.Int64:
		h.uint(uint64(*(*int64)(at)))
	case reflect.Int:
		h.uint(uint64(*(*int)(at)))
	case reflect.Float32:
		h.uint(math.Float64bits(float64(*(*float32)(at))))
	case reflect.Float64:
		h.uint(math.Float64bits(*(*float64)(at)))
	case reflect.Pointer:
		h.value(p.elem, *(*unsafe.Pointer)(at)) // nil fields are left out, and no list has pointers
	case reflect.Slice:
		h.slice(p, at)
	case reflect.Struct:
		h.fields(p, at, everything)
	}
}

func (h *hasher) slice(p *plan, at unsafe.Pointer) {
	s := *(*[]byte)(at) // for its address and length, which are the same in every slice
	h.uint(uint64(len(s)))
	first := unsafe.Pointer(unsafe.SliceData(s))
	if p.flat {
		h.buf = append(h.buf, unsafe.Slice((*byte)(first), uintptr(len(s))*p.size)...)
		return
	}
	for i := range len(s) {
		h.value(p.elem, unsafe.Add(first, uintptr(i)*p.size))
	}
}

// plan describes how values of a type are encoded.
type plan struct {
	typ    reflect.Type
	kind   reflect.Kind
	fields []planField // of a struct
	elem   *plan       // of a pointer or a slice
	size   uintptr     // of a slice's element
	flat   bool        // a slice's elements are numbers, encoded as they are in memory
}

type planField struct {
	*plan
	off     uintptr
	word    uintptr // in the struct, zero when the field is absent; never when no word says so
	name    uint64  // hash of the column's name
	column  string
	payload bool

	rare bool // a group of columns, or a number or boolean in a nullable column, where zero is null
}

const never = ^uintptr(0)

// wordOf returns the word of a field at off that is zero when the field is absent.
func (p *plan) wordOf(off uintptr) uintptr {
	switch p.kind {
	case reflect.String, reflect.Slice:
		return off + unsafe.Sizeof(off) // its length
	case reflect.Pointer:
		return off
	}
	return never
}

// scalar reports whether a value is a number or a boolean.
func (p *plan) scalar() bool {
	switch p.kind {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Struct:
		return false
	}
	return true
}

var plans sync.Map // reflect.Type -> *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := newPlan(t)
	plans.Store(t, p)
	return p
}

// newPlan panics on a type that no row has, which is a bug in the program.
func newPlan(t reflect.Type) *plan {
	p := &plan{typ: t, kind: t.Kind()}
	switch p.kind {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Int, reflect.Float32, reflect.Float64,
		reflect.Uint8:
	case reflect.Pointer:
		p.elem = newPlan(t.Elem())
	case reflect.Slice:
		p.elem, p.size = newPlan(t.Elem()), t.Elem().Size()
		switch p.elem.kind {
		case reflect.Int32, reflect.Float32, reflect.Float64, reflect.Int64, reflect.Uint8:
			p.flat = true
		}
	case reflect.Struct:
		for _, f := range schema.FieldsOf(t) {
			if !f.Volatile {
				of := newPlan(f.Type)
				p.fields = append(p.fields,
					planField{of, f.Offset, of.wordOf(f.Offset), xxh3.HashString(f.Name), f.Name, f.Payload,
						of.kind == reflect.Struct || of.scalar() && f.Optional})
			}
		}
		slices.SortFunc(p.fields, func(a, b planField) int { return strings.Compare(a.column, b.column) })
	default:
		panic("formats: no digest for " + t.String())
	}
	return p
}
