package layout

import "unsafe" // rows of any type, by the offsets of their fields

// Slice is the header of any Go slice.
type Slice struct {
	Data     unsafe.Pointer
	Len, cap int
}

// SliceAt returns the slice of n elements at p.
func SliceAt(p unsafe.Pointer, n int) Slice { return Slice{p, n, n} }

// RowSlice is rows of any type, in memory.
type RowSlice struct {
	Base   unsafe.Pointer
	Stride uintptr
	N      int
}

// RowSliceOf returns rows of any type, of which there is at least one.
func RowSliceOf[T any](rows []T) RowSlice {
	return RowSlice{Base: unsafe.Pointer(unsafe.SliceData(rows)), Stride: unsafe.Sizeof(rows[0]), N: len(rows)}
}

// At returns the position of a row.
func (r RowSlice) At(i int) unsafe.Pointer { return unsafe.Add(r.Base, uintptr(i)*r.Stride) }

// Between returns the rows from one index to before another.
func (r RowSlice) Between(from, end int) RowSlice {
	return RowSlice{Base: r.At(from), Stride: r.Stride, N: end - from}
}

// Values has one list in use, chosen by the column's type.
type Values struct {
	Bools []bool
	I32   []int32
	I64   []int64
	F32   []float32
	F64   []float64
	Strs  []string
}

// Grown returns a list of n values, in the memory of s if that suffices.
func Grown[V any](s []V, n int) []V {
	if cap(s) < n {
		return make([]V, n)
	}
	return s[:n]
}
