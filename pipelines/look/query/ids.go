package query

import (
	"bytes"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
)

// idBytes is the size of the ids that rollmill makes: 24 hex digits.
const idBytes = 12

// ids are the ids of trajectories: half the size as long as all are rollmill's own.
type ids struct {
	packed []byte
	other  []string // instead of packed, once there is another
}

func (t *ids) len() int { return len(t.other) + len(t.packed)/idBytes }

func (t *ids) add(id string) {
	if t.other == nil {
		if packed, ok := pack(id); ok {
			t.packed = append(t.packed, packed[:]...)
			return
		}
		for i := range uint32(t.len()) {
			t.other = append(t.other, t.of(i))
		}
		t.packed = nil
	}
	t.other = append(t.other, strings.Clone(id))
}

func (t *ids) of(i uint32) string {
	if t.other != nil {
		return t.other[i]
	}
	return hex.EncodeToString(t.packed[i*idBytes:][:idBytes])
}

// is reports whether the id of a row is this one.
func (t *ids) is(i uint32, id string) bool {
	if t.other != nil {
		return t.other[i] == id
	}
	packed, ok := pack(id)
	return ok && bytes.Equal(t.packed[i*idBytes:][:idBytes], packed[:])
}

// find returns the row with an id, or -1.
func (t *ids) find(id string) int64 {
	if t.other != nil {
		return int64(slices.Index(t.other, id))
	}
	packed, ok := pack(id)
	if !ok {
		return -1
	}
	for at := 0; ; {
		i := bytes.Index(t.packed[at:], packed[:])
		if i < 0 {
			return -1
		}
		if at += i; at%idBytes == 0 {
			return int64(at / idBytes)
		}
		at++
	}
}

// within returns the row with an id among rows that are sorted by id, or -1.
func (t *ids) within(sorted []uint32, id string) int64 {
	i, found := sort.Find(len(sorted), func(i int) int { return strings.Compare(id, t.of(sorted[i])) })
	if !found {
		return -1
	}
	return int64(sorted[i])
}

func (t *ids) bytes() int64 {
	total := int64(cap(t.packed))
	for _, id := range t.other {
		total += 16 + int64(len(id))
	}
	return total
}

// pack returns the bytes of an id that rollmill made.
func pack(id string) (out [idBytes]byte, ok bool) {
	if len(id) != 2*idBytes {
		return out, false
	}
	_, err := hex.Decode(out[:], []byte(id))
	return out, err == nil && id == strings.ToLower(id)
}
