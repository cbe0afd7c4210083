package parquet

import (
	"reflect"
	"unsafe" // sizes of the fields of rows of any type, by their offsets
)

// bytesOf returns the uncompressed bytes of the leaf's values in rows.
func (l *leaf) bytesOf(rows rowSlice) (n int64) {
	if kind := l.typ.Kind(); len(l.lists) == 0 && kind != reflect.String && kind != reflect.Pointer {
		return int64(rows.n) * int64(l.typ.Size())
	}
	for i := range rows.n {
		n += l.bytes(rows.at(i), l.lists)
	}
	return n
}

// zeroIsNull reports whether the leaf has numbers of which zero is null.
func (l *leaf) zeroIsNull() bool {
	kind := l.typ.Kind()
	return l.optional && kind != reflect.String && kind != reflect.Pointer
}

// bytes returns the uncompressed bytes of the leaf's values in the row at p, or
// in an element of a list at p; lists are those from there to the leaf.
func (l *leaf) bytes(p unsafe.Pointer, lists []list) (n int64) {
	if len(lists) == 0 {
		return valueBytes(l.typ, unsafe.Add(p, l.off))
	}
	of := &lists[0]
	s := (*slice)(unsafe.Add(p, of.off))
	kind := l.typ.Kind()
	switch last := len(lists) == 1; {
	case last && kind != reflect.String && kind != reflect.Pointer:
		return int64(s.len) * int64(l.typ.Size())
	case last && kind == reflect.String:
		for i := range s.len {
			n += int64(len(*(*string)(unsafe.Add(s.data, uintptr(i)*of.size+l.off))))
		}
	default:
		for i := range s.len {
			n += l.bytes(unsafe.Add(s.data, uintptr(i)*of.size), lists[1:])
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
const MaxColumnBytes = maxPage / 2

// Oversize returns the column in which a row has more than MaxColumnBytes, and
// the number of bytes. The name is "" when the row can be written.
func Oversize[T any](row *T) (column string, bytes int64) {
	for _, leaf := range layoutOf[T]().leaves {
		if n := leaf.bytes(unsafe.Pointer(row), leaf.lists); n > MaxColumnBytes && n > bytes {
			column, bytes = leaf.name, n
		}
	}
	return column, bytes
}
