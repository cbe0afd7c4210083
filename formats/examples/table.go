package examples

import (
	"math/bits"

	"github.com/zeebo/xxh3"
)

// table maps an id to a number, with ten and a half bytes for each id and
// without storing ids. The caller of a lookup reports whether a number belongs
// to the id; few other numbers are tried.
type table struct {
	slots []uint64 // a number and 1, and above it a tag of the hash; 0: free
}

const (
	numberBits = 40
	maxNumber  = 1<<numberBits - 2
)

// newTable returns a table with room for n ids.
func newTable(n int) *table { return &table{make([]uint64, n+n/3+1)} }

// find returns the number of an id, for which is returns true.
func (t *table) find(id string, is func(number int64) (bool, error)) (number int64, ok bool, err error) {
	at, tag := t.place(id)
	for ; t.slots[at] != 0; at = t.after(at) {
		if t.slots[at]>>numberBits != tag {
			continue
		}
		number := int64(t.slots[at]&(1<<numberBits-1)) - 1
		if ok, err := is(number); ok || err != nil {
			return number, ok, err
		}
	}
	return 0, false, nil
}

// put adds an id that is not in the table.
func (t *table) put(id string, number int64) {
	at, tag := t.place(id)
	for t.slots[at] != 0 {
		at = t.after(at)
	}
	t.slots[at] = tag<<numberBits | uint64(number+1)
}

func (t *table) place(id string) (at int, tag uint64) {
	hash := xxh3.HashString(id)
	high, _ := bits.Mul64(hash, uint64(len(t.slots)))
	return int(high), hash & (1<<(64-numberBits) - 1)
}

func (t *table) after(at int) int {
	if at++; at < len(t.slots) {
		return at
	}
	return 0
}
