package reader

import (
	"unsafe" // sets fields of many rows of any type at once, by their offsets

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// Most columns are fields of a row, or of the elements of one list of a row. Many
// values of these are set at once here; cursor.entry sets one of any column.

// setFields sets n fields of the leaf, stride bytes apart, to the next entries of the
// page. The first field is at p.
func (c *cursor) setFields(p unsafe.Pointer, stride uintptr, n int) {
	v := &c.page.Values
	switch c.Leaf.Kind {
	case format.ByteArray:
		setFields(c, v.Strs, p, stride, n)
	case format.Int32:
		setFields(c, v.I32, p, stride, n)
	case format.Int64:
		setFields(c, v.I64, p, stride, n)
	case format.Float:
		setFields(c, v.F32, p, stride, n)
	case format.Double:
		setFields(c, v.F64, p, stride, n)
	case format.Boolean:
		setFields(c, v.Bools, p, stride, n)
	}
}

func setFields[V any](c *cursor, values []V, p unsafe.Pointer, stride uintptr, n int) {
	pointer, max, defs := c.Pointer, byte(c.Node.Def), c.page.Defs
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
	v := &c.page.Values
	switch c.Leaf.Kind {
	case format.ByteArray:
		return setLists(c, v.Strs, base, stride, n)
	case format.Int32:
		return setLists(c, v.I32, base, stride, n)
	case format.Int64:
		return setLists(c, v.I64, base, stride, n)
	case format.Float:
		return setLists(c, v.F32, base, stride, n)
	case format.Double:
		return setLists(c, v.F64, base, stride, n)
	case format.Boolean:
		return setLists(c, v.Bools, base, stride, n)
	}
	return 0, nil
}

func setLists[V any](c *cursor, values []V, base unsafe.Pointer, stride uintptr, n int) (rows int, err error) {
	if err := c.close(0); err != nil {
		return 0, err
	}
	l, pointer, max := &c.Lists[0], c.Pointer, byte(c.Node.Def)
	reps, defs := c.page.Reps, c.page.Defs
	for ; rows < n && c.at < len(reps); rows++ {
		end := c.at + 1
		for end < len(reps) && reps[end] > 0 {
			end++
		}
		if end == len(reps) && !c.page.Whole {
			break
		}
		elements := end - c.at
		if defs[c.at] < l.Def { // the list is null or empty
			if elements > 1 {
				return rows, layout.BadPage("entry %d continues a list that is null or empty (levels %d and %d)", c.at+1,
					reps[c.at+1], defs[c.at+1])
			}
			elements = 0
		}
		s := (*layout.Slice)(unsafe.Add(base, uintptr(rows)*stride+l.Off))
		if s.Len == 0 && elements > 0 && l.Makes {
			if err := c.column.Budget.AcquireRows(int64(elements) * int64(l.Size)); err != nil {
				return rows, err
			}
			*s = c.elements(l, 0, elements)
		}
		if s.Len != elements {
			return rows, layout.BadPage("a list has %d elements here, and %d in another column", elements, s.Len)
		}
		for i := range elements {
			switch def := defs[c.at+i]; {
			case def == max:
				put(unsafe.Add(s.Data, uintptr(i)*l.Size+c.Off), values, c.value, pointer)
				c.value++
			case def < l.Def:
				return rows, layout.BadPage("entry %d continues a list that is null or empty (levels %d and %d)", c.at+i,
					reps[c.at+i], def)
			case c.Member:
				return rows, layout.Unfit(0, layout.NullElement)
			}
		}
		c.index[0] = elements - 1
		c.at = end
	}
	return rows, nil
}

// adapted converts the values of the page that was read.
func (c *cursor) adapted() error {
	if c.Convert == nil {
		return nil
	}
	if err := c.column.Room(c.page.Entries, c.column.Keep); err != nil {
		return err
	}
	err := c.Convert(&c.page.Values)
	c.column.Spare = c.page.Values
	return layout.InRow(err, c.rowOf)
}

// rowOf returns the row of a value of the page, of those that begin in it; -1 in the row before.
func (c *cursor) rowOf(value int) int {
	row := -1
	for i := range c.page.Entries {
		if c.page.Reps == nil || c.page.Reps[i] == 0 {
			row++
		}
		if c.page.Defs != nil && int(c.page.Defs[i]) < int(c.Node.Def) {
			continue
		}
		if value--; value < 0 {
			break
		}
	}
	return row
}
