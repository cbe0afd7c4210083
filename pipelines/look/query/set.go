package query

import (
	"math/bits"
)

// set is a set of rows or groups.
type set []uint64

func newSet(n uint32) set { return make(set, (int(n)+63)/64) }

func (s set) add(i uint32)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i uint32) bool { return s == nil || s[i/64]&(1<<(i%64)) != 0 } // nil has all

func (s set) count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}
