package parquet

import (
	"unsafe" // rows of any type, by the offsets of their fields

	"github.com/rollmill/rollmill/formats"
)

// slice is the header of any Go slice.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// rowSlice is rows of any type, in memory.
type rowSlice struct {
	base    unsafe.Pointer
	stride  uintptr
	n       int
	unknown []*formats.Unknown // the unknown columns of each, where these are written
}

func rowSliceOf[T any](rows []T) rowSlice {
	return rowSlice{base: unsafe.Pointer(unsafe.SliceData(rows)), stride: unsafe.Sizeof(rows[0]), n: len(rows)}
}

// at returns the position of a row.
func (r rowSlice) at(i int) unsafe.Pointer { return unsafe.Add(r.base, uintptr(i)*r.stride) }

// between returns the rows from one index to before another.
func (r rowSlice) between(from, end int) rowSlice {
	return rowSlice{base: r.at(from), stride: r.stride, n: end - from}
}
