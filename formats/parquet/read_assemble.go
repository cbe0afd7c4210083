package parquet

import (
	"encoding/binary"
	"io"
	"reflect"
	"unsafe" // sets fields of rows of any type, by their offsets

	"github.com/parquet-go/parquet-go/format"
)

// cursor reads the values of one leaf in one chunk into the fields of rows.
type cursor struct {
	*leaf
	column column
	window window
	raw    rawPage
	page   page
	at     int   // index of the entry in the page
	value  int   // index of the value in the page: entries so far that have a value
	index  []int // by list: of the current element, -1 when it has none

	open []*slice // by list: the current one, whose elements are counted when it ends
	room []slice  // by list: memory for the elements of short lists
}

// more makes an entry available; it returns false at the end of the chunk.
func (c *cursor) more() (bool, error) {
	for c.at == c.page.entries {
		c.page = page{}
		c.at, c.value = 0, 0
		if err := c.column.next(&c.window, &c.raw, &c.page); err == io.EOF {
			return false, nil
		} else if err != nil {
			c.page = page{}
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
	if c.node.rep == 0 {
		return c.flat(base, stride, n)
	}
	row := -1
	for {
		if c.at == c.page.entries && row == n-1 && c.page.whole {
			return c.close(0)
		}
		ok, err := c.more()
		if err != nil {
			return inRow(err, row+1)
		}
		if !ok {
			if row == n-1 {
				return c.close(0)
			}
			return badPage("the column ended %d rows early", n-1-row)
		}
		if len(c.lists) == 1 && !c.bulk && row < n-1 && c.page.reps[c.at] == 0 {
			done, err := c.setLists(unsafe.Add(base, uintptr(row+1)*stride), stride, n-1-row)
			if row += done; err != nil {
				return inRow(err, row+1)
			}
		}
		for c.at < c.page.entries {
			if c.page.reps[c.at] == 0 {
				if row == n-1 {
					return c.close(0)
				}
				row++
			} else if row < 0 {
				return badPage("it does not begin with a row")
			}
			if err := c.entry(unsafe.Add(base, uintptr(row)*stride)); err != nil {
				return inRow(err, row)
			}
		}
	}
}

// flat sets the field of a column outside lists.
func (c *cursor) flat(base unsafe.Pointer, stride uintptr, n int) error {
	base = unsafe.Add(base, c.off)
	for done := 0; done < n; {
		ok, err := c.more()
		if err != nil {
			return inRow(err, done)
		}
		if !ok {
			return badPage("the column ended %d rows early", n-done)
		}
		take := min(n-done, c.page.entries-c.at)
		c.setFields(unsafe.Add(base, uintptr(done)*stride), stride, take)
		done += take
	}
	return nil
}

// entry reads one entry of a repeated leaf, or several of a list of numbers.
// Its repetition level says at which list it repeats, and its definition level
// how far down the path to the leaf there are values. An entry repeats only at
// a list that has an element, and adds one element to it.
func (c *cursor) entry(p unsafe.Pointer) error {
	rep, def := c.page.reps[c.at], c.page.defs[c.at]
	if rep > 0 && (c.index[rep-1] < 0 || def < c.lists[rep-1].def) {
		return badPage("entry %d continues a list that is null or empty (levels %d and %d)", c.at, rep, def)
	}
	if err := c.close(rep); err != nil {
		return err
	}
	last := len(c.lists) - 1
	for i := range c.lists {
		l := &c.lists[i]
		p = unsafe.Add(p, l.off)
		if def < l.def { // the list is null or empty
			if n := (*slice)(p).len; n > 0 {
				return badPage("a list has no elements here, and %d in another column", n)
			}
			if l.optional && def == l.def-1 {
				*(*slice)(p) = slice{data: unsafe.Pointer(&emptyList)} // not null
			}
			for ; i <= last; i++ {
				c.index[i] = -1
			}
			c.at++
			return nil
		}
		switch {
		case rep < l.rep:
			c.index[i] = 0
		case rep == l.rep:
			c.index[i]++
		}
		if i == last && c.bulk && c.index[i] == 0 {
			return c.setNumbers(p, l)
		}
		var err error
		if p, err = c.element(p, l, i); err != nil {
			return err
		}
	}
	if def < byte(c.node.def) && c.foreign && c.member {
		return unfit(0, nullElement)
	}
	c.setFields(unsafe.Add(p, c.off), 0, 1)
	return nil
}

// close ends the lists in which an entry of a repetition level has no more
// elements. All columns of a list must have the same number of elements.
func (c *cursor) close(rep byte) error {
	for i := int(rep); i < len(c.open); i++ {
		if s := c.open[i]; s != nil {
			if s.len != c.index[i]+1 {
				return badPage("a list has %d elements here, and %d in another column", c.index[i]+1, s.len)
			}
			c.open[i] = nil
		}
	}
	return nil
}

// element returns the current element of the cursor's i-th list, which is at p.
// The first leaf of a list makes all its elements at once.
func (c *cursor) element(p unsafe.Pointer, l *list, i int) (unsafe.Pointer, error) {
	s, at := (*slice)(p), c.index[i]
	c.open[i] = s
	if at >= s.len {
		if !l.makes || at > s.len {
			return nil, badPage("a list has more than %d elements here, and %d in another column", at, s.len)
		}
		n := 1
		if at == 0 {
			n = c.length(l)
		}
		if err := c.column.budget.acquireRows(int64(n) * int64(l.size)); err != nil {
			return nil, err
		}
		if at == 0 {
			*s = c.elements(l, i, n)
		} else {
			v := reflect.NewAt(l.typ, p).Elem()
			v.Set(reflect.Append(v, reflect.Zero(l.typ.Elem()))) // the list continues in another page
		}
	}
	return unsafe.Add(s.data, uintptr(at)*l.size), nil
}

var emptyList struct{}

// roomBytes is the memory that short lists share: a row that is kept keeps it too.
const roomBytes = 8 << 10

// elements makes n elements of the cursor's i-th list. Short lists share memory.
func (c *cursor) elements(l *list, i, n int) slice {
	if uintptr(n)*l.size > roomBytes/4 {
		return slice{reflect.MakeSlice(l.typ, n, n).UnsafePointer(), n, n}
	}
	if c.room == nil {
		c.room = make([]slice, len(c.lists))
	}
	r := &c.room[i]
	if r.len < n {
		all := int(roomBytes / l.size)
		*r = slice{reflect.MakeSlice(l.typ, all, all).UnsafePointer(), all, all}
	}
	s := slice{r.data, n, n}
	if r.len -= n; r.len > 0 {
		r.data = unsafe.Add(r.data, uintptr(n)*l.size)
	} else {
		r.data = nil // it would point behind the memory
	}
	return s
}

// length returns the number of elements of the list whose first element is the
// current entry, as far as the page has them.
func (c *cursor) length(l *list) int {
	n := 1
	for _, rep := range c.page.reps[c.at+1:] {
		if rep < l.rep {
			break
		}
		if rep == l.rep {
			n++
		}
	}
	return n
}

// setNumbers sets the slice at p to the values of a whole list of numbers. They stay
// in the memory of the page; a null element is 0.
func (c *cursor) setNumbers(p unsafe.Pointer, l *list) error {
	reps, defs := c.page.reps, c.page.defs
	max := byte(c.node.def)
	end := c.at
	if defs[end] == max {
		end++
		end += prefixOf(reps[end:], l.rep)
		end = c.at + prefixOf(defs[c.at:end], max)
	}
	if end < len(reps) && (end == c.at || reps[end] == l.rep) {
		if c.foreign {
			return unfit(0, nullElement)
		}
		first, err := c.element(p, l, len(c.lists)-1) // a null element: from here on one by one
		if err != nil {
			return err
		}
		c.setFields(first, 0, 1)
		return nil
	}
	n := end - c.at
	from, to := c.value, c.value+n
	v := &c.page.values
	switch c.leaf.kind {
	case format.Int32:
		*(*[]int32)(p) = v.i32[from:to:to]
	case format.Int64:
		*(*[]int64)(p) = v.i64[from:to:to]
	case format.Float:
		*(*[]float32)(p) = v.f32[from:to:to]
	case format.Double:
		*(*[]float64)(p) = v.f64[from:to:to]
	}
	c.at, c.value = end, to
	c.index[len(c.index)-1] = n - 1
	return nil
}

// prefixOf returns how many of the first levels are v.
func prefixOf(levels []byte, v byte) int {
	n, all := 0, uint64(v)*0x0101010101010101
	for n+8 <= len(levels) && binary.LittleEndian.Uint64(levels[n:]) == all {
		n += 8
	}
	for n < len(levels) && levels[n] == v {
		n++
	}
	return n
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
		if c.at == c.page.entries {
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
			return inRow(err, -int(n))
		}
		if !ok {
			return badPage("the column ended %d rows early", n)
		}
		if c.node.rep == 0 {
			take := int(min(n, int64(c.page.entries-c.at)))
			c.value += c.page.present(&c.column, c.at, c.at+take)
			c.at += take
			n -= int64(take)
			continue
		}
		for c.at < c.page.entries { // past one row, to the start of the next
			c.pass()
			if c.at < c.page.entries && c.page.reps[c.at] == 0 {
				break
			}
		}
		if c.at < c.page.entries || c.page.whole {
			n--
			continue
		}
		if ok, err := c.more(); err != nil {
			return inRow(err, 1-int(n))
		} else if !ok || c.page.reps[0] == 0 {
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
	if c.window.at >= c.window.end {
		return 0, nil
	}
	c.window.ahead = passAhead // where rows are skipped, what follows a page may not be needed
	length, err := c.window.header(&c.raw.header)
	if err != nil {
		return 0, err
	}
	head := &c.raw.header
	h := &head.DataPageHeaderV2.V
	stop := c.window.at + length + int64(head.CompressedPageSize)
	if head.Type != format.DataPageV2 || !head.DataPageHeaderV2.Valid || h.NumRows <= 0 || int64(h.NumRows) > n ||
		h.NumValues < h.NumRows || c.node.rep == 0 && h.NumValues > h.NumRows || int64(h.NumValues) > c.column.left ||
		head.CompressedPageSize < 0 || stop > c.window.end {
		return 0, nil // what is wrong will be found when it is read
	}
	c.page, c.at, c.value = page{}, 0, 0
	c.column.left -= int64(h.NumValues)
	c.window.at = stop
	return int64(h.NumRows), nil
}

// pass skips one entry.
func (c *cursor) pass() {
	if c.page.defs == nil || c.page.defs[c.at] == byte(c.node.def) {
		c.value++
	}
	c.at++
}
