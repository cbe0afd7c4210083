package formats

import (
	"encoding/hex"
	"reflect"
	"unsafe" // hashes fields of rows of any type, by their offsets

	"github.com/zeebo/xxh3"
)

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
