package layout

import "encoding/binary"

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
