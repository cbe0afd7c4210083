package query

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// byID returns the rows in the order of their ids.
func (x *Index) byID() []uint32 {
	rows := ascending(x.Rows)
	if x.ids.other != nil {
		slices.SortFunc(rows, func(a, b uint32) int { return cmp.Compare(x.ids.other[a], x.ids.other[b]) })
		return rows
	}
	end := func(row uint32) uint64 { return uint64(binary.BigEndian.Uint32(x.ids.packed[row*idBytes+8:])) }
	start := func(row uint32) uint64 { return binary.BigEndian.Uint64(x.ids.packed[row*idBytes:]) }
	return resorted(resorted(rows, end, false), start, false)
}

// digitBits is the size of the digits of a radix sort: so few that the places where
// the next of each go are in the processor's cache.
const digitBits = 11

// resorted sorts the numbers below their count by their keys. Those with the same key keep
// their order. It is a radix sort: several times faster than comparing, and a page waits for it.
func resorted(numbers []uint32, of key, descending bool) []uint32 {
	keys, next := make([]uint64, len(numbers)), make([]uint32, len(numbers))
	var differ uint64
	for i := range keys {
		k := of(uint32(i))
		if descending && k != nullKey {
			k = ^k // not nullKey: 0 is the key of no value
		}
		keys[i] = k
		differ |= k ^ keys[0]
	}
	const digits = 1 << digitBits
	for shift := 0; shift < 64; shift += digitBits {
		if differ>>shift%digits == 0 {
			continue
		}
		var first [digits + 1]uint32
		for _, k := range keys {
			first[k>>shift%digits+1]++
		}
		for d := range digits {
			first[d+1] += first[d]
		}
		for _, i := range numbers {
			at := &first[keys[i]>>shift%digits]
			next[*at] = i
			*at++
		}
		numbers, next = next, numbers
	}
	return numbers
}
