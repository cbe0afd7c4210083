package parquet

import "unsafe" // rows of any type, by the offsets of their fields

// slice is the header of any Go slice.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// rowSlice is rows of any type, in memory.
type rowSlice struct {
	base   unsafe.Pointer
	stride uintptr
	n      int
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
