package formats

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"reflect"
	"sync"
	"unsafe" // hashes fields of rows of any type, by their offsets

	"github.com/zeebo/xxh3"
)

// hasher encodes a row as bytes: see RowsDigest.
type hasher struct{ buf []byte }

var hashers = sync.Pool{New: func() any { return &hasher{buf: make([]byte, 0, 1<<16)} }}

type part int

const (
	skipPayload part = iota // volatile fields are always skipped
	onlyPayload
	everything
)

func (h *hasher) uint(n uint64) { h.buf = binary.LittleEndian.AppendUint64(h.buf, n) }

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
	if f.kind == reflect.Struct && len(h.buf) == from+2*8 { // a group of columns of which none has a value
		h.buf = h.buf[:from]
	}
}

func (h *hasher) value(p *plan, at unsafe.Pointer) {
	switch p.kind {
	case reflect.String:
		s := *(*string)(at)
		h.uint(uint64(len(s)))
		h.buf = append(h.buf, s...)
	case reflect.Bool:
		h.uint(uint64(*(*byte)(at)))
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

// SetPayloadDigest sets t.PayloadDigest from the payload columns.
func (t *Trajectory) SetPayloadDigest() { t.PayloadDigest = PayloadDigest(t) }

// PayloadDigest returns the digest of a row's payload columns.
func PayloadDigest[T any](row *T) string {
	sum := digest(row, onlyPayload).Bytes()
	return string(hex.AppendEncode(make([]byte, 0, 2*len(sum)), sum[:]))
}

func (t *Trajectory) HasPayloadDigest() bool { return len(t.PayloadDigest) == 32 }

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
