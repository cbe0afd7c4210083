package layout

import (
	"encoding/binary"
	"reflect"
	"unsafe" // sizes of the fields of rows of any type, by their offsets
)

// CheckLevels checks that entries repeat only at lists that have an element,
// and add one to them, as cursor.entry does for pages that are read.
func (l *Leaf) CheckLevels(reps, defs []byte) error {
	var lists [256]byte // by definition level: how many of the lists have an element
	for i := range l.Lists {
		for def := int(l.Lists[i].Def); def < len(lists); def++ {
			lists[def] = byte(i + 1)
		}
	}
	before := byte(0)
	for i := 0; i < len(reps); {
		def := defs[i]
		here, n := lists[def], PrefixOf(defs[i:], def) // adjacent entries are often of one level
		if reps[i] > min(before, here) || FirstAbove(reps[i+1:i+n], int(here)) > int(here) {
			return BadPage("entry %d, or one of the %d after it, continues a list that is null or empty (level %d)",
				i, n-1, def)
		}
		before, i = here, i+n
	}
	return nil
}

// FirstAbove returns the first level above max, or max.
func FirstAbove(levels []byte, max int) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	if max < 128 {
		up := uint64(127-max) * each // moves what is above max to 128 or more
		for n+8 <= len(levels) {
			v := binary.LittleEndian.Uint64(levels[n:])
			if (v|(v+up))&high != 0 { // a byte carries into the next only if it is 128 or more itself
				break
			}
			n += 8
		}
	}
	for _, v := range levels[n:] {
		if int(v) > max {
			return int(v)
		}
	}
	return max
}

// PrefixOf returns how many of the first levels are v.
func PrefixOf(levels []byte, v byte) int {
	n, all := 0, uint64(v)*0x0101010101010101
	for n+8 <= len(levels) && binary.LittleEndian.Uint64(levels[n:]) == all {
		n += 8
	}
	for n < len(levels) && levels[n] == v {
		n++
	}
	return n
}

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
