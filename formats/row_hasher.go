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

// encodings are buffers for the bytes of a row: see RowsDigest. They are passed on as values: a buffer
// behind a pointer takes a write barrier for each append while garbage is collected.
var encodings = sync.Pool{New: func() any { b := make([]byte, 0, 1<<16); return &b }}

type part int

const (
	skipPayload part = iota // volatile fields are always skipped
	onlyPayload
	everything
)

func appendUint(b []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(b, n) }

// appendFields appends those fields of the struct at at that the digest of a part covers.
func (p *plan) appendFields(b []byte, at unsafe.Pointer, of part) []byte {
	for i := range p.fields {
		f := &p.fields[i]
		if f.word != never && *(*uintptr)(unsafe.Add(at, f.word)) == 0 {
			continue
		}
		if of != everything && f.payload != (of == onlyPayload) {
			continue
		}
		if at := unsafe.Add(at, f.off); f.rare {
			b = f.appendRare(b, at)
		} else {
			b = f.append(appendUint(b, f.name), at)
		}
	}
	return appendUint(b, 0)
}

func (f *planField) appendRare(b []byte, at unsafe.Pointer) []byte {
	if f.scalar() && reflect.NewAt(f.typ, at).Elem().IsZero() {
		return b
	}
	out := f.append(appendUint(b, f.name), at)
	if f.kind == reflect.Struct && len(out) == len(b)+2*8 { // a group of columns of which none has a value
		return b
	}
	return out
}

// append appends a value.
func (p *plan) append(b []byte, at unsafe.Pointer) []byte {
	switch p.kind {
	case reflect.String:
		s := *(*string)(at)
		return append(appendUint(b, uint64(len(s))), s...)
	case reflect.Bool:
		return appendUint(b, uint64(*(*byte)(at)))
	case reflect.Int32:
		return appendUint(b, uint64(*(*int32)(at)))
	case reflect.Int64:
		return appendUint(b, uint64(*(*int64)(at)))
	case reflect.Int:
		return appendUint(b, uint64(*(*int)(at)))
	case reflect.Float32:
		return appendUint(b, math.Float64bits(float64(*(*float32)(at))))
	case reflect.Float64:
		return appendUint(b, math.Float64bits(*(*float64)(at)))
	case reflect.Pointer:
		return p.elem.append(b, *(*unsafe.Pointer)(at)) // nil fields are left out, and no list has pointers
	case reflect.Slice:
		return p.appendSlice(b, at)
	case reflect.Struct:
		return p.appendFields(b, at, everything)
	}
	return b
}

func (p *plan) appendSlice(b []byte, at unsafe.Pointer) []byte {
	s := *(*[]byte)(at) // for its address and length, which are the same in every slice
	b = appendUint(b, uint64(len(s)))
	first := unsafe.Pointer(unsafe.SliceData(s))
	if p.flat {
		return append(b, unsafe.Slice((*byte)(first), uintptr(len(s))*p.size)...)
	}
	for i := range len(s) {
		b = p.elem.append(b, unsafe.Add(first, uintptr(i)*p.size))
	}
	return b
}

// SetPayloadDigest sets t.PayloadDigest from the payload columns.
func (t *Trajectory) SetPayloadDigest() { t.PayloadDigest = PayloadDigest(t) }

// PayloadDigest returns the digest of a row's payload columns.
func PayloadDigest[T any](row *T) string {
	sum := digest(row, onlyPayload).Bytes()
	return string(hex.AppendEncode(make([]byte, 0, 2*len(sum)), sum[:]))
}

func (t *Trajectory) HasPayloadDigest() bool { return len(t.PayloadDigest) == 32 }

func digest[T any](row *T, of part) (sum xxh3.Uint128) {
	digests(unsafe.Slice(row, 1), of, func(d xxh3.Uint128) { sum = d })
	return sum
}

// digests calls f with the digest of each row.
func digests[T any](rows []T, of part, f func(xxh3.Uint128)) {
	buffer, p := encodings.Get().(*[]byte), planOf(reflect.TypeFor[T]())
	b := *buffer
	for i := range rows {
		b = p.appendFields(b[:0], unsafe.Pointer(&rows[i]), of)
		f(xxh3.Hash128(b))
	}
	*buffer = b
	encodings.Put(buffer)
}
