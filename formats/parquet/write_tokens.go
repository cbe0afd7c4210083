package parquet

import (
	"encoding/binary"
	"reflect"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// A list with an element for each token of a sequence has thousands of elements a
// row: its values are copied as a whole, its levels are made from its lengths, and
// its bounds, which say nothing, are not recorded.

// ofTokens reports whether a leaf is such a list: ids in a dictionary, log
// probabilities that are split, or a mask.
func ofTokens(l *layout.Leaf, enc format.Encoding) bool {
	if len(l.Lists) != 1 || !l.Member || l.Optional {
		return false
	}
	switch l.Typ.Kind() {
	case reflect.Int32:
		return enc == format.RLEDictionary
	case reflect.Float32:
		return enc == format.ByteStreamSplit
	}
	return l.Typ.Kind() == reflect.Bool
}

// tokenSize returns the compressed bytes of such lists so far.
func (g *rowGroupBuffer) tokenSize() (bytes int64) {
	for _, c := range g.chunks {
		if c.tokens {
			bytes += c.length()
		}
	}
	return bytes
}

// levelRuns appends levels below 256 in runs; equal levels that follow each other make one.
type levelRuns struct {
	out   []byte
	level byte
	n     int
}

func (r *levelRuns) add(level byte, n int) {
	if level != r.level {
		r.end()
		r.level = level
	}
	r.n += n
}

func (r *levelRuns) end() {
	if r.n > 0 {
		r.out = append(binary.AppendUvarint(r.out, uint64(r.n)<<1), r.level)
	}
	r.n = 0
}

// appendReps appends the repetition levels: the first element of each row has 0.
func (g *columnBuffer) appendReps(to []byte) []byte {
	r := levelRuns{out: to}
	for _, n := range g.lengths {
		r.add(0, 1)
		if n > 1 {
			r.add(g.Lists[0].Rep, int(n)-1)
		}
	}
	r.end()
	return r.out
}

func (g *columnBuffer) appendDefs(to []byte) []byte {
	r := levelRuns{out: to}
	for _, n := range g.lengths {
		if n == 0 {
			r.add(g.Lists[0].EmptyLevel(&layout.Slice{}), 1)
		} else {
			r.add(byte(g.Node.Def), int(n))
		}
	}
	r.end()
	return r.out
}

// appendBits packs booleans of a byte each.
func appendBits(to, bools []byte) []byte {
	const spread = 0x0102040810204080 // moves the lowest bit of byte i to bit i of the highest byte
	for ; len(bools) >= 8; bools = bools[8:] {
		to = append(to, byte(binary.LittleEndian.Uint64(bools)*spread>>56))
	}
	if len(bools) == 0 {
		return to
	}
	last := byte(0)
	for i, b := range bools {
		last |= b << i
	}
	return append(to, last)
}
