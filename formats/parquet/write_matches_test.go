package parquet

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestRepeats: a page of ids repeats when rows share a prompt or quote it, and not
// when a few ids are frequent.
func TestRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ids := func(n int) (out []int32) {
		for range n {
			out = append(out, int32(r.ExpFloat64()*1000))
		}
		return out
	}
	prompt := ids(600)
	for _, tc := range []struct {
		name    string
		row     func() []int32
		repeats bool
	}{
		{"answers", func() []int32 { return ids(800) }, false},
		{"prompts", func() []int32 { return append(ids(9), prompt...) }, true},
		{"quotes", func() []int32 { return append(append(ids(301), prompt[100:300]...), ids(100)...) }, true},
		{"one id", func() []int32 { return make([]int32, 500) }, true},
	} {
		for size, put := range map[int]func([]byte, int32) []byte{
			4: func(b []byte, v int32) []byte { return binary.LittleEndian.AppendUint32(b, uint32(v)) },
			2: func(b []byte, v int32) []byte { return binary.LittleEndian.AppendUint16(b, uint16(v)) },
		} {
			data := []byte{16, 200, 1} // of a page of indexes
			for range 16 {
				for _, id := range tc.row() {
					data = put(data, id)
				}
			}
			if got := repeats(data, size); got != tc.repeats {
				t.Errorf("%s in %d bytes each: %v", tc.name, size, got)
			}
		}
	}
	for n := range 40 {
		repeats(make([]byte, n), 2) // of any length
	}
}
