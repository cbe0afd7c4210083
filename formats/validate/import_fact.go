package validate

import (
	"encoding/binary"
	"math"
)

// fact is what is kept of a row until all rows of its group are known.
type fact struct {
	place
	found   set
	content uint64  // a hash
	score   float64 // by which it is compared in its group
	scored  bool    // it has a score
	turns   turns   // of its conversation
	pairs   bool    // they can be made of its own candidates
	differs [2]pair // what another row must have, and must not
}

// place is where a row is in the source.
type place struct {
	n            uint64 // rows before it
	file         uint32 // as an index into SourceCheck.files
	line, record int64
}

// factBytes is the length of a fact without n, which is in its key.
const factBytes = 16*8 + 4 + 1

func (f *fact) append(b []byte) []byte {
	for _, x := range [...]uint64{uint64(f.found), f.content, math.Float64bits(f.score), uint64(f.line), uint64(f.record),
		f.differs[0].prompt, f.differs[0].answer, f.differs[1].prompt, f.differs[1].answer,
		f.turns.last, f.turns.earlier[0], f.turns.earlier[1], f.turns.earlier[2], f.turns.earlier[3], f.turns.attempt, f.turns.index} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	b = binary.LittleEndian.AppendUint32(b, f.file)
	return append(b, bit(f.scored)|bit(f.pairs)<<1)
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// decoded returns the fact of the n-th row.
func decoded(n uint64, b []byte) fact {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	flags := b[factBytes-1]
	return fact{
		place: place{n: n, file: binary.LittleEndian.Uint32(b[16*8:]), line: int64(word(3)), record: int64(word(4))},
		found: set(word(0)), content: word(1), score: math.Float64frombits(word(2)), scored: flags&1 != 0,
		pairs: flags&2 != 0, differs: [2]pair{{word(5), word(6)}, {word(7), word(8)}},
		turns: turns{word(9), [4]uint64{word(10), word(11), word(12), word(13)}, word(14), word(15)},
	}
}

// ordered appends a key that sorts by a hash, and then by a place in the source.
func ordered(b []byte, hash, n uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, hash), n)
}

// split returns the numbers of such a key.
func split(key []byte) (hash, n uint64) {
	return binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])
}
