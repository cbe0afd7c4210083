package parquet

import (
	"reflect"
	"unsafe" // sets fields of many rows of any type at once, by their offsets

	"github.com/parquet-go/parquet-go/format"
)

// Most columns are fields of a row, or of the elements of one list of a row. Many
// values of these are set at once here; cursor.entry sets one of any column.

// setFields sets n fields of the leaf, stride bytes apart, to the next entries of the
// page. The first field is at p.
func (c *cursor) setFields(p unsafe.Pointer, stride uintptr, n int) {
	v := &c.page.values
	switch c.leaf.kind {
	case format.ByteArray:
		setFields(c, v.strs, p, stride, n)
	case format.Int32:
		setFields(c, v.i32, p, stride, n)
	case format.Int64:
		setFields(c, v.i64, p, stride, n)
	case format.Float:
		setFields(c, v.f32, p, stride, n)
	case format.Double:
		setFields(c, v.f64, p, stride, n)
	case format.Boolean:
		setFields(c, v.bools, p, stride, n)
	}
}

func setFields[V any](c *cursor, values []V, p unsafe.Pointer, stride uintptr, n int) {
	pointer, max, defs := c.typ.Kind() == reflect.Pointer, byte(c.node.def), c.page.defs
	for i := range n {
		if defs == nil || defs[c.at+i] == max {
			put(unsafe.Add(p, uintptr(i)*stride), values, c.value, pointer)
			c.value++
		}
	}
	c.at += n
}

// setLists sets the leaf's field in the elements of its one list in the next rows,
// at most n. It returns how many rows of them end in the page for certain. The
// next entry begins a row.
func (c *cursor) setLists(base unsafe.Pointer, stride uintptr, n int) (rows int, err error) {
	v := &c.page.values
	switch c.leaf.kind {
	case format.ByteArray:
		return setLists(c, v.strs, base, stride, n)
	case format.Int32:
		return setLists(c, v.i32, base, stride, n)
	case format.Int64:
		return setLists(c, v.i64, base, stride, n)
	case format.Float:
		return setLists(c, v.f32, base, stride, n)
	case format.Double:
		return setLists(c, v.f64, base, stride, n)
	case format.Boolean:
		return setLists(c, v.bools, base, stride, n)
	}
	return 0, nil
}

func setLists[V any](c *cursor, values []V, base unsafe.Pointer, stride uintptr, n int) (rows int, err error) {
	if err := c.close(0); err != nil {
		return 0, err
	}
	l, pointer, max := &c.lists[0], c.typ.Kind() == reflect.Pointer, byte(c.node.def)
	reps, defs := c.page.reps, c.page.defs
	for ; rows < n && c.at < len(reps); rows++ {
		end := c.at + 1
		for end < len(reps) && reps[end] > 0 {
			end++
		}
		if end == len(reps) && !c.page.whole {
			break
		}
		elements := end - c.at
		if defs[c.at] < l.def { // the list is null or empty
			if elements > 1 {
				return rows, badPage("entry %d continues a list that is null or empty (levels %d and %d)", c.at+1,
					reps[c.at+1], defs[c.at+1])
			}
			elements = 0
		}
		s := (*slice)(unsafe.Add(base, uintptr(rows)*stride+l.off))
		if s.len == 0 && elements > 0 && l.makes {
			if err := c.column.budget.acquireRows(int64(elements) * int64(l.size)); err != nil {
				return rows, err
			}
			*s = c.elements(l, 0, elements)
		}
		if s.len != elements {
			return rows, badPage("a list has %d elements here, and %d in another column", elements, s.len)
		}
		for i := range elements {
			switch def := defs[c.at+i]; {
			case def == max:
				put(unsafe.Add(s.data, uintptr(i)*l.size+c.off), values, c.value, pointer)
				c.value++
			case def < l.def:
				return rows, badPage("entry %d continues a list that is null or empty (levels %d and %d)", c.at+i,
					reps[c.at+i], def)
			case c.foreign && c.member:
				return rows, unfit(0, nullElement)
			}
		}
		c.index[0] = elements - 1
		c.at = end
	}
	return rows, nil
}
