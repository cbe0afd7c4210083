package formats

import (
	"fmt"
	"math/bits"

	"github.com/zeebo/xxh3"
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
	digests(rows, skipPayload, d.Add)
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
