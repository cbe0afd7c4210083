package reader

import (
	"io"
	"reflect"
	"unsafe" // sets fields of rows of any type, by their offsets

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
)

// cursor reads the values of one leaf in one chunk into the fields of rows.
type cursor struct {
	*layout.Leaf
	column page.Column
	window page.Window
	raw    page.RawPage
	page   page.Page
	at     int   // index of the entry in the page
	value  int   // index of the value in the page: entries so far that have a value
	index  []int // by list: of the current element, -1 when it has none

	open []*layout.Slice // by list: the current one, whose elements are counted when it ends
	room []layout.Slice  // by list: memory for the elements of short lists
}

// more makes an entry available; it returns false at the end of the chunk.
func (c *cursor) more() (bool, error) {
	for c.at == c.page.Entries {
		c.page = page.Page{}
		c.at, c.value = 0, 0
		if err := c.column.Next(&c.window, &c.raw, &c.page); err == io.EOF {
			return false, nil
		} else if err != nil {
			c.page = page.Page{}
			return false, err
		}
		if err := c.adapted(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// fill sets the leaf's field in n rows that are stride bytes apart.
func (c *cursor) fill(base unsafe.Pointer, stride uintptr, n int) error {
	if c.Node.Rep == 0 {
		return c.flat(base, stride, n)
	}
	row := -1
	for {
		if c.at == c.page.Entries && row == n-1 && c.page.Whole {
			return c.close(0)
		}
		ok, err := c.more()
		if err != nil {
			return layout.RowsBefore(err, row+1)
		}
		if !ok {
			if row == n-1 {
				return c.close(0)
			}
			return layout.BadPage("the column ended %d rows early", n-1-row)
		}
		if len(c.Lists) == 1 && !c.Bulk && row < n-1 && c.page.Reps[c.at] == 0 {
			done, err := c.setLists(unsafe.Add(base, uintptr(row+1)*stride), stride, n-1-row)
			if row += done; err != nil {
				return layout.RowsBefore(err, row+1)
			}
		}
		for c.at < c.page.Entries {
			if c.page.Reps[c.at] == 0 {
				if row == n-1 {
					return c.close(0)
				}
				row++
			} else if row < 0 {
				return layout.BadPage("it does not begin with a row")
			}
			if err := c.Entry(unsafe.Add(base, uintptr(row)*stride)); err != nil {
				return layout.RowsBefore(err, row)
			}
		}
	}
}

// flat sets the field of a column outside lists.
func (c *cursor) flat(base unsafe.Pointer, stride uintptr, n int) error {
	base = unsafe.Add(base, c.Off)
	for done := 0; done < n; {
		ok, err := c.more()
		if err != nil {
			return layout.RowsBefore(err, done)
		}
		if !ok {
			return layout.BadPage("the column ended %d rows early", n-done)
		}
		take := min(n-done, c.page.Entries-c.at)
		c.setFields(unsafe.Add(base, uintptr(done)*stride), stride, take)
		done += take
	}
	return nil
}

// Entry reads one entry of a repeated leaf, or several of a list of numbers.
// Its repetition level says at which list it repeats, and its definition level
// how far down the path to the leaf there are values. An entry repeats only at
// a list that has an element, and adds one element to it.
func (c *cursor) Entry(p unsafe.Pointer) error {
	rep, def := c.page.Reps[c.at], c.page.Defs[c.at]
	if rep > 0 && (c.index[rep-1] < 0 || def < c.Lists[rep-1].Def) {
		return layout.BadPage("entry %d continues a list that is null or empty (levels %d and %d)", c.at, rep, def)
	}
	if err := c.close(rep); err != nil {
		return err
	}
	last := len(c.Lists) - 1
	for i := range c.Lists {
		l := &c.Lists[i]
		p = unsafe.Add(p, l.Off)
		if def < l.Def { // the list is null or empty
			if n := (*layout.Slice)(p).Len; n > 0 {
				return layout.BadPage("a list has no elements here, and %d in another column", n)
			}
			if l.Optional && def == l.Def-1 {
				*(*layout.Slice)(p) = layout.Slice{Data: unsafe.Pointer(&emptyList)} // not null
			}
			for ; i <= last; i++ {
				c.index[i] = -1
			}
			c.at++
			return nil
		}
		switch {
		case rep < l.Rep:
			c.index[i] = 0
		case rep == l.Rep:
			c.index[i]++
		}
		if i == last && c.Bulk && c.index[i] == 0 {
			return c.setNumbers(p, l)
		}
		var err error
		if p, err = c.Element(p, l, i); err != nil {
			return err
		}
	}
	if def < byte(c.Node.Def) && c.Member {
		return layout.Unfit(0, layout.NullElement)
	}
	c.setFields(unsafe.Add(p, c.Off), 0, 1)
	return nil
}

// close ends the lists in which an entry of a repetition level has no more
// elements. All columns of a list must have the same number of elements.
func (c *cursor) close(rep byte) error {
	for i := int(rep); i < len(c.open); i++ {
		if s := c.open[i]; s != nil {
			if s.Len != c.index[i]+1 {
				return layout.BadPage("a list has %d elements here, and %d in another column", c.index[i]+1, s.Len)
			}
			c.open[i] = nil
		}
	}
	return nil
}

// Element returns the current element of the cursor's i-th list, which is at p.
// The first leaf of a list makes all its elements at once.
func (c *cursor) Element(p unsafe.Pointer, l *layout.List, i int) (unsafe.Pointer, error) {
	s, at := (*layout.Slice)(p), c.index[i]
	c.open[i] = s
	if at >= s.Len {
		if !l.Makes || at > s.Len {
			return nil, layout.BadPage("a list has more than %d elements here, and %d in another column", at, s.Len)
		}
		n := 1
		if at == 0 {
			n = c.length(l)
		}
		if err := c.column.Budget.AcquireRows(int64(n) * int64(l.Size)); err != nil {
			return nil, err
		}
		if at == 0 {
			*s = c.elements(l, i, n)
		} else {
			v := reflect.NewAt(l.Typ, p).Elem()
			v.Set(reflect.Append(v, reflect.Zero(l.Typ.Elem()))) // the list continues in another page
		}
	}
	return unsafe.Add(s.Data, uintptr(at)*l.Size), nil
}

var emptyList struct{}

// roomBytes is the memory that short lists share: a row that is kept keeps it too.
const roomBytes = 8 << 10

// elements makes n elements of the cursor's i-th list. Short lists share memory.
func (c *cursor) elements(l *layout.List, i, n int) layout.Slice {
	if uintptr(n)*l.Size > roomBytes/4 {
		return layout.SliceAt(reflect.MakeSlice(l.Typ, n, n).UnsafePointer(), n)
	}
	if c.room == nil {
		c.room = make([]layout.Slice, len(c.Lists))
	}
	r := &c.room[i]
	if r.Len < n {
		all := int(roomBytes / l.Size)
		*r = layout.SliceAt(reflect.MakeSlice(l.Typ, all, all).UnsafePointer(), all)
	}
	s := layout.SliceAt(r.Data, n)
	if r.Len -= n; r.Len > 0 {
		r.Data = unsafe.Add(r.Data, uintptr(n)*l.Size)
	} else {
		r.Data = nil // it would point behind the memory
	}
	return s
}

// length returns the number of elements of the list whose first element is the
// current entry, as far as the page has them.
func (c *cursor) length(l *layout.List) int {
	n := 1
	for _, rep := range c.page.Reps[c.at+1:] {
		if rep < l.Rep {
			break
		}
		if rep == l.Rep {
			n++
		}
	}
	return n
}

// setNumbers sets the slice at p to the values of a whole list of numbers. They stay
// in the memory of the page.
func (c *cursor) setNumbers(p unsafe.Pointer, l *layout.List) error {
	reps, defs := c.page.Reps, c.page.Defs
	max := byte(c.Node.Def)
	end := c.at
	if defs[end] == max {
		end++
		end += layout.PrefixOf(reps[end:], l.Rep)
		end = c.at + layout.PrefixOf(defs[c.at:end], max)
	}
	if end < len(reps) && (end == c.at || reps[end] == l.Rep) {
		return layout.Unfit(0, layout.NullElement)
	}
	n := end - c.at
	from, to := c.value, c.value+n
	v := &c.page.Values
	switch c.Leaf.Kind {
	case format.Int32:
		*(*[]int32)(p) = v.I32[from:to:to]
	case format.Int64:
		*(*[]int64)(p) = v.I64[from:to:to]
	case format.Float:
		*(*[]float32)(p) = v.F32[from:to:to]
	case format.Double:
		*(*[]float64)(p) = v.F64[from:to:to]
	}
	c.at, c.value = end, to
	c.index[len(c.index)-1] = n - 1
	return nil
}

func put[V any](p unsafe.Pointer, values []V, i int, pointer bool) {
	if pointer {
		*(**V)(p) = &values[i]
		return
	}
	*(*V)(p) = values[i]
}

// skip skips n rows, and does not inflate pages that have no others.
func (c *cursor) skip(n int64) error {
	for n > 0 {
		if c.at == c.page.Entries {
			passed, err := c.passPage(n)
			if err != nil {
				return err
			}
			if n -= passed; passed > 0 {
				continue
			}
		}
		ok, err := c.more()
		if err != nil {
			return layout.RowsBefore(err, -int(n))
		}
		if !ok {
			return layout.BadPage("the column ended %d rows early", n)
		}
		if c.Node.Rep == 0 {
			take := int(min(n, int64(c.page.Entries-c.at)))
			c.value += c.page.Present(&c.column, c.at, c.at+take)
			c.at += take
			n -= int64(take)
			continue
		}
		for c.at < c.page.Entries { // past one row, to the start of the next
			c.pass()
			if c.at < c.page.Entries && c.page.Reps[c.at] == 0 {
				break
			}
		}
		if c.at < c.page.Entries || c.page.Whole {
			n--
			continue
		}
		if ok, err := c.more(); err != nil {
			return layout.RowsBefore(err, 1-int(n))
		} else if !ok || c.page.Reps[0] == 0 {
			n--
		}
	}
	return nil
}

// passAhead is what is read of a page to find out whether it is skipped.
const passAhead = 4 << 10

// passPage skips the next page if it has at most n rows and its header says so,
// and returns how many.
func (c *cursor) passPage(n int64) (rows int64, err error) {
	if c.window.At >= c.window.End {
		return 0, nil
	}
	c.window.Ahead = passAhead // where rows are skipped, what follows a page may not be needed
	length, err := c.window.Header(&c.raw.Header)
	if err != nil {
		return 0, err
	}
	head := &c.raw.Header
	h := &head.DataPageHeaderV2.V
	stop := c.window.At + length + int64(head.CompressedPageSize)
	if head.Type != format.DataPageV2 || !head.DataPageHeaderV2.Valid || h.NumRows <= 0 || int64(h.NumRows) > n ||
		h.NumValues < h.NumRows || c.Node.Rep == 0 && h.NumValues > h.NumRows || int64(h.NumValues) > c.column.Left ||
		head.CompressedPageSize < 0 || stop > c.window.End {
		return 0, nil // what is wrong will be found when it is read
	}
	c.page, c.at, c.value = page.Page{}, 0, 0
	c.column.Left -= int64(h.NumValues)
	c.window.At = stop
	return int64(h.NumRows), nil
}

// pass skips one entry.
func (c *cursor) pass() {
	if c.page.Defs == nil || c.page.Defs[c.at] == byte(c.Node.Def) {
		c.value++
	}
	c.at++
}
