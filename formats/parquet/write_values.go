package parquet

import (
	"reflect"
	"unsafe" // copies fields of rows of any type, by their offsets

	"github.com/parquet-go/parquet-go/format"
)

// columnBuffer is the entries of one leaf that are not in a page yet: a repetition
// and a definition level for each, and the values of those that have one, in
// the list of the leaf's type. parquet-go's own conversion of rows to columns
// is not used: version 0.32 writes some nulls after a value as empty strings.
type columnBuffer struct {
	*leaf
	reps, defs []byte
	entries    int
	rows       int
	present    int // values
	size       int64

	tokens  bool    // a list with an element for each token of a row: it has lengths instead of levels
	lengths []int32 // of the rows' lists

	bits    []byte // booleans, a byte each
	i32     []int32
	i64     []int64
	f32     []float32
	f64     []float64
	text    []byte
	offsets []uint32
}

func (g *columnBuffer) reset() {
	*g = columnBuffer{leaf: g.leaf, tokens: g.tokens, lengths: g.lengths[:0], reps: g.reps[:0], defs: g.defs[:0],
		bits: g.bits[:0], i32: g.i32[:0], i64: g.i64[:0],
		f32: g.f32[:0], f64: g.f64[:0], text: g.text[:0], offsets: append(g.offsets[:0], 0)}
}

// addRows adds the leaf's entries of rows.
func (g *columnBuffer) addRows(rows rowSlice) {
	if g.unknown {
		for _, u := range rows.unknown {
			g.addRow(u.At)
		}
		return
	}
	if len(g.lists) > 1 || g.bulk || g.tokens {
		for i := range rows.n {
			g.addRow(rows.at(i))
		}
		return
	}
	g.rows += rows.n
	if len(g.lists) == 0 {
		g.addFields(unsafe.Add(rows.base, g.off), rows.stride, rows.n, 0, 0)
		return
	}
	l := &g.lists[0]
	for i := range rows.n {
		s := (*slice)(unsafe.Add(rows.base, l.off+uintptr(i)*rows.stride))
		if s.len == 0 {
			g.addLevels(0, l.emptyLevel())
			continue
		}
		g.addFields(unsafe.Add(s.data, g.off), l.size, s.len, 0, l.rep)
	}
}

// addRow adds the leaf's entries of the row at p.
func (g *columnBuffer) addRow(p unsafe.Pointer) {
	g.rows++
	if !g.tokens {
		g.addNested(p, 0, 0)
		return
	}
	s := (*slice)(unsafe.Add(p, g.lists[0].off))
	g.lengths = append(g.lengths, int32(s.len))
	g.entries += max(s.len, 1)
	g.present += s.len
	g.addNumbers(s)
}

// addNested adds the entries below list i on the path from the row to the leaf.
// An empty list is null if the schema allows it: rows do not distinguish the
// two.
func (g *columnBuffer) addNested(p unsafe.Pointer, i int, rep byte) {
	if i == len(g.lists) {
		g.addField(unsafe.Add(p, g.off), rep)
		return
	}
	l := &g.lists[i]
	s := (*slice)(unsafe.Add(p, l.off))
	if s.len == 0 {
		g.addLevels(rep, l.emptyLevel())
		return
	}
	if g.bulk && i == len(g.lists)-1 {
		g.addList(s, rep, l.rep)
		return
	}
	for j := range s.len {
		g.addNested(unsafe.Add(s.data, uintptr(j)*l.size), i+1, rep)
		rep = l.rep
	}
}

// emptyLevel is the definition level of a list without elements.
func (l *list) emptyLevel() byte {
	if l.optional {
		return l.def - 2
	}
	return l.def - 1
}

func (g *columnBuffer) addLevels(rep, def byte) {
	g.entries++
	if g.node.rep > 0 {
		g.reps = append(g.reps, rep)
	}
	if g.node.def > 0 {
		g.defs = append(g.defs, def)
	}
}

// addList adds a whole list of numbers.
func (g *columnBuffer) addList(s *slice, rep, again byte) {
	n := s.len
	g.entries += n
	g.present += n
	from := len(g.reps)
	g.reps = fillBytes(g.reps, n, again)
	g.reps[from] = rep
	g.defs = fillBytes(g.defs, n, byte(g.node.def))
	g.addNumbers(s)
}

// addNumbers adds the values of a list of numbers or booleans.
func (g *columnBuffer) addNumbers(s *slice) {
	n := s.len
	switch g.node.kind {
	case format.Boolean:
		g.bits = append(g.bits, unsafe.Slice((*byte)(s.data), n)...)
		g.size += int64(n)
	case format.Int32:
		g.i32 = append(g.i32, unsafe.Slice((*int32)(s.data), n)...)
		g.size += 4 * int64(n)
	case format.Int64:
		g.i64 = append(g.i64, unsafe.Slice((*int64)(s.data), n)...)
		g.size += 8 * int64(n)
	case format.Float:
		g.f32 = append(g.f32, unsafe.Slice((*float32)(s.data), n)...)
		g.size += 4 * int64(n)
	case format.Double:
		g.f64 = append(g.f64, unsafe.Slice((*float64)(s.data), n)...)
		g.size += 8 * int64(n)
	}
}

func fillBytes(s []byte, n int, v byte) []byte {
	from := len(s)
	if cap(s) < from+n {
		s = append(make([]byte, 0, 2*(from+n)), s...)
	}
	s = s[:from+n]
	for i := range s[from:] {
		s[from+i] = v
	}
	return s
}

// addFields adds n fields, stride bytes apart, of which the first is at p. The
// first repeats at the level rep, the others at the level again.
func (g *columnBuffer) addFields(p unsafe.Pointer, stride uintptr, n int, rep, again byte) {
	g.entries += n
	if g.node.rep > 0 {
		from := len(g.reps)
		g.reps = fillBytes(g.reps, n, again)
		g.reps[from] = rep
	}
	from := len(g.defs)
	if g.node.def > 0 {
		g.defs = fillBytes(g.defs, n, byte(g.node.def))
	}
	g.addValues(p, stride, n, g.defs[from:])
}

// addValues adds the values of n fields. defs are their levels, which it lowers
// where a pointer is nil, or where zero is null.
func (g *columnBuffer) addValues(p unsafe.Pointer, stride uintptr, n int, defs []byte) {
	var nullable []byte
	if g.optional {
		nullable = defs
	}
	before := g.present
	switch g.node.kind {
	case format.Boolean:
		g.bits = appendFields(g, g.bits, p, stride, n, nullable)
		g.size += int64(g.present - before)
	case format.Int32:
		g.i32 = appendFields(g, g.i32, p, stride, n, nullable)
		g.size += 4 * int64(g.present-before)
	case format.Int64:
		g.i64 = appendFields(g, g.i64, p, stride, n, nullable)
		g.size += 8 * int64(g.present-before)
	case format.Float:
		g.f32 = appendFields(g, g.f32, p, stride, n, nullable)
		g.size += 4 * int64(g.present-before)
	case format.Double:
		g.f64 = appendFields(g, g.f64, p, stride, n, nullable)
		g.size += 8 * int64(g.present-before)
	case format.ByteArray:
		if g.typ.Kind() == reflect.Pointer {
			g.addPointedStrings(p, stride, n, nullable)
		} else {
			g.addStrings(p, stride, n, nullable)
		}
	}
}

// appendPointed appends the numbers behind n pointers to those of g; see addValues.
func appendPointed[V byte | int32 | int64 | float32 | float64](g *columnBuffer, to []V, p unsafe.Pointer, stride uintptr,
	n int, defs []byte) []V {
	before := len(to)
	for i := range n {
		v := *(**V)(unsafe.Add(p, uintptr(i)*stride))
		if v == nil {
			defs[i]--
			continue
		}
		to = append(to, *v)
	}
	g.present += len(to) - before
	return to
}

// addPointedStrings adds the strings behind n pointers; see addValues.
func (g *columnBuffer) addPointedStrings(p unsafe.Pointer, stride uintptr, n int, defs []byte) {
	for i := range n {
		s := *(**string)(unsafe.Add(p, uintptr(i)*stride))
		if s == nil {
			defs[i]--
			continue
		}
		g.addStrings(unsafe.Pointer(s), 0, 1, nil)
	}
}

// appendFields appends n numbers, or booleans as bytes, to those of g; see addValues.
func appendFields[V byte | int32 | int64 | float32 | float64](g *columnBuffer, to []V, p unsafe.Pointer, stride uintptr,
	n int, nullable []byte) []V {
	if g.typ.Kind() == reflect.Pointer {
		return appendPointed(g, to, p, stride, n, nullable)
	}
	for i := range n {
		v := *(*V)(unsafe.Add(p, uintptr(i)*stride))
		if nullable != nil && v == 0 {
			nullable[i]--
			continue
		}
		g.present++
		to = append(to, v)
	}
	return to
}

// addStrings adds n strings; see addValues.
func (g *columnBuffer) addStrings(p unsafe.Pointer, stride uintptr, n int, nullable []byte) {
	for i := range n {
		s := *(*string)(unsafe.Add(p, uintptr(i)*stride))
		if nullable != nil && len(s) == 0 {
			nullable[i]--
			continue
		}
		g.present++
		g.text = append(g.text, s...)
		g.offsets = append(g.offsets, uint32(len(g.text)))
		g.size += int64(len(s))
	}
}

// addField adds the field at p. In a nullable column the zero value of a field
// that is not a pointer is null.
func (g *columnBuffer) addField(p unsafe.Pointer, rep byte) {
	pointer := g.typ.Kind() == reflect.Pointer
	if pointer {
		p = *(*unsafe.Pointer)(p)
	}
	if g.optional && (pointer && p == nil || !pointer && zero(p, g.node.kind)) {
		g.addLevels(rep, byte(g.node.def-1))
		return
	}
	g.addLevels(rep, byte(g.node.def))
	g.present++
	switch g.node.kind {
	case format.Boolean:
		g.bits = append(g.bits, *(*byte)(p))
		g.size++
	case format.Int32:
		g.i32 = append(g.i32, *(*int32)(p))
		g.size += 4
	case format.Int64:
		g.i64 = append(g.i64, *(*int64)(p))
		g.size += 8
	case format.Float:
		g.f32 = append(g.f32, *(*float32)(p))
		g.size += 4
	case format.Double:
		g.f64 = append(g.f64, *(*float64)(p))
		g.size += 8
	case format.ByteArray:
		s := *(*string)(p)
		g.text = append(g.text, s...)
		g.offsets = append(g.offsets, uint32(len(g.text)))
		g.size += int64(len(s))
	}
}

func zero(p unsafe.Pointer, kind format.Type) bool {
	switch kind {
	case format.Boolean:
		return !*(*bool)(p)
	case format.Int32:
		return *(*int32)(p) == 0
	case format.Int64:
		return *(*int64)(p) == 0
	case format.Float:
		return *(*float32)(p) == 0
	case format.Double:
		return *(*float64)(p) == 0
	}
	return len(*(*string)(p)) == 0
}
