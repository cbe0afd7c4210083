package parquet

import (
	"unsafe" // copies fields of rows of any type, by their offsets

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
)

// columnBuffer is the entries of one leaf that are not in a page yet: a repetition
// and a definition level for each, and the values of those that have one, in
// the list of the leaf's type. parquet-go's own conversion of rows to columns
// is not used: version 0.32 writes some nulls after a value as empty strings.
type columnBuffer struct {
	*layout.Leaf
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
	*g = columnBuffer{Leaf: g.Leaf, tokens: g.tokens, lengths: g.lengths[:0], reps: g.reps[:0], defs: g.defs[:0],
		bits: g.bits[:0], i32: g.i32[:0], i64: g.i64[:0],
		f32: g.f32[:0], f64: g.f64[:0], text: g.text[:0], offsets: append(g.offsets[:0], 0)}
}

// addRows adds the leaf's entries of rows.
func (g *columnBuffer) addRows(rows layout.RowSlice) {
	switch {
	case len(g.Lists) == 0:
		g.rows += rows.N
		g.addFields(unsafe.Add(rows.Base, g.Off), rows.Stride, rows.N, 0, 0)
	case len(g.Lists) == 1 && !g.tokens:
		g.addElements(rows)
	default:
		for i := range rows.N {
			g.addRow(rows.At(i))
		}
	}
}

// addRow adds the leaf's entries of the row at p.
func (g *columnBuffer) addRow(p unsafe.Pointer) {
	g.rows++
	if !g.tokens {
		g.addNested(p, 0, 0)
		return
	}
	s := (*layout.Slice)(unsafe.Add(p, g.Lists[0].Off))
	g.lengths = append(g.lengths, int32(s.Len))
	g.entries += max(s.Len, 1)
	g.addNumbers(s)
}

// addElements adds the leaf's entries of rows, each of which has one list of them. It
// adds the levels of all rows at once, as most lists are short and most of their
// fields are null: an import takes 2.6 % less processor time than row by row.
func (g *columnBuffer) addElements(rows layout.RowSlice) {
	l, n := &g.Lists[0], 0
	for i := range rows.N {
		n += max((*layout.Slice)(unsafe.Add(rows.At(i), l.Off)).Len, 1)
	}
	at := len(g.defs)
	g.rows += rows.N
	g.addLevels(n, l.Rep, l.Rep, byte(g.Node.Def))
	for i := range rows.N {
		s := (*layout.Slice)(unsafe.Add(rows.At(i), l.Off))
		g.reps[at] = 0
		switch {
		case s.Len == 0:
			g.defs[at] = l.EmptyLevel(s)
		case g.Bulk:
			g.addNumbers(s)
		default:
			g.addValues(unsafe.Add(s.Data, g.Off), l.Size, s.Len, g.defs[at:])
		}
		at += max(s.Len, 1)
	}
}

// addNested adds the entries below list i on the path from the row to the leaf.
// A list that is nil is null if the schema allows it.
func (g *columnBuffer) addNested(p unsafe.Pointer, i int, rep byte) {
	if i == len(g.Lists) {
		g.addFields(unsafe.Add(p, g.Off), 0, 1, rep, rep)
		return
	}
	l := &g.Lists[i]
	s := (*layout.Slice)(unsafe.Add(p, l.Off))
	switch last := i == len(g.Lists)-1; {
	case s.Len == 0:
		g.addLevels(1, rep, rep, l.EmptyLevel(s))
	case last && g.Bulk:
		g.addLevels(s.Len, rep, l.Rep, byte(g.Node.Def))
		g.addNumbers(s)
	case last:
		g.addFields(unsafe.Add(s.Data, g.Off), l.Size, s.Len, rep, l.Rep)
	default:
		for j := range s.Len {
			g.addNested(unsafe.Add(s.Data, uintptr(j)*l.Size), i+1, rep)
			rep = l.Rep
		}
	}
}

// addLevels adds the levels of n entries, which all have the definition level def.
// The first repeats at the level rep, the others at the level again.
func (g *columnBuffer) addLevels(n int, rep, again, def byte) {
	g.entries += n
	if g.Node.Rep > 0 {
		from := len(g.reps)
		g.reps = fillBytes(g.reps, n, again)
		g.reps[from] = rep
	}
	if g.Node.Def > 0 {
		g.defs = fillBytes(g.defs, n, def)
	}
}

// addNumbers adds the values of a list of numbers or booleans.
func (g *columnBuffer) addNumbers(s *layout.Slice) {
	switch n := s.Len; g.Node.Kind {
	case format.Boolean:
		g.bits = append(g.bits, unsafe.Slice((*byte)(s.Data), n)...)
	case format.Int32:
		g.i32 = append(g.i32, unsafe.Slice((*int32)(s.Data), n)...)
	case format.Int64:
		g.i64 = append(g.i64, unsafe.Slice((*int64)(s.Data), n)...)
	case format.Float:
		g.f32 = append(g.f32, unsafe.Slice((*float32)(s.Data), n)...)
	case format.Double:
		g.f64 = append(g.f64, unsafe.Slice((*float64)(s.Data), n)...)
	}
	g.addedNumbers(s.Len)
}

// addedNumbers counts n values of a fixed size.
func (g *columnBuffer) addedNumbers(n int) {
	g.present += n
	g.size += int64(n) * page.ValueSize(g.Node.Kind)
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
// first repeats at the level rep, the others at the level again. The level of a
// field that is null, or is zero where that is null, is then lowered.
func (g *columnBuffer) addFields(p unsafe.Pointer, stride uintptr, n int, rep, again byte) {
	from := len(g.defs)
	g.addLevels(n, rep, again, byte(g.Node.Def))
	g.addValues(p, stride, n, g.defs[from:])
}

// addValues adds the values of n fields to which the definition levels belong; see addFields.
func (g *columnBuffer) addValues(p unsafe.Pointer, stride uintptr, n int, defs []byte) {
	var nullable []byte // the levels that may be lowered
	if g.Optional {
		nullable = defs
	}
	switch g.Node.Kind {
	case format.Boolean:
		g.bits = appendFields(g, g.bits, p, stride, n, nullable)
	case format.Int32:
		g.i32 = appendFields(g, g.i32, p, stride, n, nullable)
	case format.Int64:
		g.i64 = appendFields(g, g.i64, p, stride, n, nullable)
	case format.Float:
		g.f32 = appendFields(g, g.f32, p, stride, n, nullable)
	case format.Double:
		g.f64 = appendFields(g, g.f64, p, stride, n, nullable)
	case format.ByteArray:
		if g.Pointer {
			g.addPointedStrings(p, stride, n, nullable)
		} else {
			g.addStrings(p, stride, n, nullable)
		}
	}
}

// appendFields appends n numbers, or booleans as bytes, to those of g; see addFields.
func appendFields[V byte | int32 | int64 | float32 | float64](g *columnBuffer, to []V, p unsafe.Pointer, stride uintptr,
	n int, nullable []byte) []V {
	before, pointer := len(to), g.Pointer
	for i := range n {
		v := (*V)(unsafe.Add(p, uintptr(i)*stride))
		if pointer {
			v = *(**V)(unsafe.Pointer(v))
		}
		if pointer && v == nil || nullable != nil && !pointer && *v == 0 {
			nullable[i]--
			continue
		}
		to = append(to, *v)
	}
	g.addedNumbers(len(to) - before)
	return to
}

// addPointedStrings adds the strings behind n pointers; see addFields.
func (g *columnBuffer) addPointedStrings(p unsafe.Pointer, stride uintptr, n int, nullable []byte) {
	for i := range n {
		s := *(**string)(unsafe.Add(p, uintptr(i)*stride))
		if s == nil {
			nullable[i]--
			continue
		}
		g.addStrings(unsafe.Pointer(s), 0, 1, nil)
	}
}

// addStrings adds n strings; see addFields.
func (g *columnBuffer) addStrings(p unsafe.Pointer, stride uintptr, n int, nullable []byte) {
	for i := range n {
		s := *(*string)(unsafe.Add(p, uintptr(i)*stride))
		if nullable != nil && len(s) == 0 {
			nullable[i]--
			continue
		}
		g.addString(s)
	}
}

func (g *columnBuffer) addString(s string) {
	g.present++
	g.text = append(g.text, s...)
	g.offsets = append(g.offsets, uint32(len(g.text)))
	g.size += int64(len(s))
}
