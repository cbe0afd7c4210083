package parquet

import (
	"reflect"
	"unsafe"
)

// sharedList is a list of rows that are added together, as each of its leaves has
// it: the levels of its entries, and which fields no element has. Most columns of
// most rows are such fields, and their entries are then copied.
type sharedList struct {
	off, size uintptr   // of the list in a row, and of an element
	checks    []uintptr // words of an element that are zero when a nullable field is null
	of        []int     // which of them is a leaf's, by column; -1 for none
	set       []uint64  // the bits that these words have in any element

	elements int
	reps     []byte // of the entries
	gaps     []int  // the entries of rows whose list is empty
}

// newLists returns the list above each leaf, by column; nil for a leaf that is in
// none.
func newLists(leaves []*leaf) []*sharedList {
	out := make([]*sharedList, len(leaves))
	known := map[uintptr]*sharedList{}
	for _, l := range leaves {
		if len(l.lists) == 0 {
			continue
		}
		n := known[l.lists[0].off]
		if n == nil {
			n = &sharedList{off: l.lists[0].off, size: l.lists[0].size, of: make([]int, len(leaves))}
			known[n.off] = n
		}
		out[l.node.leaf] = n
		n.of[l.node.leaf] = -1
		if at, ok := l.nullWord(); ok {
			n.of[l.node.leaf] = len(n.checks)
			n.checks = append(n.checks, at)
		}
	}
	return out
}

// nullWord returns the place of the word in an element of the leaf's first list
// that is zero when the leaf has no value in it.
func (l *leaf) nullWord() (at uintptr, ok bool) {
	const length = unsafe.Sizeof(uintptr(0)) // where a string or a slice has its length
	switch {
	case len(l.lists) > 1:
		return l.lists[1].off + length, true
	case !l.optional || l.member:
		return 0, false
	}
	switch l.typ.Kind() {
	case reflect.String:
		return l.off + length, true
	case reflect.Pointer, reflect.Int64, reflect.Float64:
		return l.off, true
	}
	return 0, false
}

// look looks at the list in some rows.
func (n *sharedList) look(rows rowSlice) {
	n.set = append(n.set[:0], make([]uint64, len(n.checks))...)
	n.elements, n.reps, n.gaps = 0, n.reps[:0], n.gaps[:0]
	for i := range rows.n {
		s := (*slice)(unsafe.Add(rows.base, n.off+uintptr(i)*rows.stride))
		if n.reps = append(n.reps, 0); s.len == 0 {
			n.gaps = append(n.gaps, len(n.reps)-1)
			continue
		}
		n.elements += s.len
		for range s.len - 1 {
			n.reps = append(n.reps, 1)
		}
		for j := range s.len {
			p := unsafe.Add(s.data, uintptr(j)*n.size)
			for k, at := range n.checks {
				n.set[k] |= *(*uint64)(unsafe.Add(p, at))
			}
		}
	}
}

// blank reports whether a leaf has no value in any element.
func (n *sharedList) blank(l *leaf) bool {
	check := n.of[l.node.leaf]
	return n.elements == 0 || check >= 0 && n.set[check] == 0
}

// addShared adds the leaf's entries of rows, whose list n is. It returns false,
// and adds nothing, for a leaf that must be walked.
func (g *columnBuffer) addShared(rows rowSlice, n *sharedList) bool {
	blank := n.blank(g.leaf)
	if g.tokens || !blank && (len(g.lists) > 1 || g.bulk) {
		return false
	}
	first, def := &g.lists[0], byte(g.node.def)
	switch {
	case !blank || n.elements == 0:
	case len(g.lists) > 1:
		def = g.lists[1].emptyLevel()
	default:
		def--
	}
	g.rows += rows.n
	g.entries += len(n.reps)
	g.reps = append(g.reps, n.reps...)
	from := len(g.defs)
	g.defs = fillBytes(g.defs, len(n.reps), def)
	defs := g.defs[from:]
	for _, at := range n.gaps {
		defs[at] = first.emptyLevel()
	}
	if blank {
		return true
	}
	for i := range rows.n {
		s := (*slice)(unsafe.Add(rows.base, first.off+uintptr(i)*rows.stride))
		if s.len > 0 {
			g.addValues(unsafe.Add(s.data, g.off), first.size, s.len, defs)
		}
		defs = defs[max(s.len, 1):]
	}
	return true
}
