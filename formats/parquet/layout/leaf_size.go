package layout

import (
	"reflect"
	"unsafe" // sizes of the fields of rows of any type, by their offsets
)

// BytesOf returns the uncompressed bytes of the leaf's values in rows.
func (l *Leaf) BytesOf(rows RowSlice) (n int64) {
	if kind := l.Typ.Kind(); len(l.Lists) == 0 && kind != reflect.String && kind != reflect.Pointer {
		return int64(rows.N) * int64(l.Typ.Size())
	}
	for i := range rows.N {
		n += l.Bytes(rows.At(i), l.Lists)
	}
	return n
}

// ZeroIsNull reports whether the leaf has numbers of which zero is null.
func (l *Leaf) ZeroIsNull() bool {
	kind := l.Typ.Kind()
	return l.Optional && kind != reflect.String && kind != reflect.Pointer
}

// Bytes returns the uncompressed bytes of the leaf's values in the row at p, or
// in an element of a list at p; lists are those from there to the leaf.
func (l *Leaf) Bytes(p unsafe.Pointer, lists []List) (n int64) {
	if len(lists) == 0 {
		return valueBytes(l.Typ, unsafe.Add(p, l.Off))
	}
	of := &lists[0]
	s := (*Slice)(unsafe.Add(p, of.Off))
	kind := l.Typ.Kind()
	switch last := len(lists) == 1; {
	case last && kind != reflect.String && kind != reflect.Pointer:
		return int64(s.Len) * int64(l.Typ.Size())
	case last && kind == reflect.String:
		for i := range s.Len {
			n += int64(len(*(*string)(unsafe.Add(s.Data, uintptr(i)*of.Size+l.Off))))
		}
	default:
		for i := range s.Len {
			n += l.Bytes(unsafe.Add(s.Data, uintptr(i)*of.Size), lists[1:])
		}
	}
	return n
}

func valueBytes(t reflect.Type, p unsafe.Pointer) int64 {
	if t.Kind() == reflect.Pointer {
		t, p = t.Elem(), *(*unsafe.Pointer)(p)
	}
	switch {
	case p == nil:
		return 0
	case t.Kind() == reflect.String:
		return int64(len(*(*string)(p)))
	}
	return int64(t.Size())
}

// MaxColumnBytes is the largest number of bytes of one row in one column: more
// would not fit into any page that is written or read.
const MaxColumnBytes = MaxPage / 2

// Oversize returns the column in which a row has more than MaxColumnBytes, and
// the number of bytes. The name is "" when the row can be written.
func Oversize[T any](row *T) (column string, bytes int64) {
	for _, leaf := range Of[T]().Leaves {
		if n := leaf.Bytes(unsafe.Pointer(row), leaf.Lists); n > MaxColumnBytes && n > bytes {
			column, bytes = leaf.Name, n
		}
	}
	return column, bytes
}
