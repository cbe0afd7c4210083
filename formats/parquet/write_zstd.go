package parquet

import (
	"encoding/binary"
	"errors"
	"math"
	"sync"

	"github.com/klauspost/compress/huff0"
)

// A page of byte-stream-split floats has a plane for each of their bytes. There
// are no matches in it that are worth a search, which is most of the work of
// zstd's encoder. So such pages are zstd frames without sequences: the planes in
// blocks of entropy-coded literals, and long runs of one byte (of tokens that do
// not train) in blocks of their own. Such a frame takes half the time. A block
// that would hardly be smaller is stored as it is, and read at no cost. Without this
// and without repeats, wide rows take 14 % more processor time to write and 4 % more
// to read, and their files are 2.4 % larger.

const (
	maxBlock   = 128 << 10 // the format's limit
	runWindow  = 256       // a run is found that fills such a window
	sampleSize = 1 << 11   // bytes of a block that tell whether it is worth packing
	oneStream  = 1 << 10   // shorter literals are one stream instead of four
)

// The types of blocks, and of literals in a compressed one.
const (
	rawBlock        = 0
	runBlock        = 1
	compressedBlock = 2

	newTable  = 2
	lastTable = 3
)

var scratches = sync.Pool{New: func() any { return new(huff0.Scratch) }}

// frame is a zstd frame that is being written.
type frame struct {
	out  []byte
	last int // where the header of the last block begins
	huff *huff0.Scratch
}

// packPlanes makes a zstd frame of n planes of equal length.
func packPlanes(dst, src []byte, n int) []byte {
	// a single segment, its size in 4 bytes
	f := frame{out: append(dst[:0], 0x28, 0xB5, 0x2F, 0xFD, 0xA0), huff: scratches.Get().(*huff0.Scratch)}
	defer scratches.Put(f.huff)
	f.out = binary.LittleEndian.AppendUint32(f.out, uint32(len(src)))
	f.huff.Reuse = huff0.ReusePolicyNone // of the table of another frame
	size := max(len(src)/n, 1)
	for len(src) > size {
		f.plane(src[:size])
		src = src[size:]
	}
	f.plane(src)
	f.out[f.last] |= 1
	return f.out
}

// plane adds the blocks of a plane: its runs, and what is between them.
func (f *frame) plane(p []byte) {
	from := 0
	for at := 0; at+runWindow <= len(p); {
		if !uniform(p[at : at+runWindow]) {
			at += runWindow
			continue
		}
		end := at + runWindow
		for at > from && p[at-1] == p[end-1] {
			at--
		}
		for end < len(p) && p[end] == p[end-1] {
			end++
		}
		f.literals(p[from:at])
		f.run(p[at], end-at)
		at, from = end, end
	}
	f.literals(p[from:])
	if len(p) == 0 {
		f.block(rawBlock, 0)
	}
}

func uniform(p []byte) bool { return p[0] == p[len(p)-1] && string(p[1:]) == string(p[:len(p)-1]) }

// block begins a block.
func (f *frame) block(kind, size int) {
	f.last = len(f.out)
	head := kind<<1 | size<<3
	f.out = append(f.out, byte(head), byte(head>>8), byte(head>>16))
}

// run adds a byte that is repeated n times.
func (f *frame) run(b byte, n int) {
	for ; n > 0; n -= maxBlock {
		f.block(runBlock, min(n, maxBlock))
		f.out = append(f.out, b)
	}
}

// literals adds bytes in blocks of about the same size.
func (f *frame) literals(p []byte) {
	for n := (len(p) + maxBlock - 1) / maxBlock; n > 0; n-- {
		size := (len(p) + n - 1) / n
		f.pack(p[:size])
		p = p[size:]
	}
}

// pack adds bytes in one block.
func (f *frame) pack(p []byte) {
	if bitsOf(p) > worthBits {
		f.raw(p)
		return
	}
	compress := huff0.Compress4X
	if len(p) < oneStream {
		compress = huff0.Compress1X
	}
	packed, again, err := compress(p, f.huff)
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		f.run(p[0], len(p))
		return
	case err != nil || len(packed)+6 >= len(p): // with its header and the number of sequences
		f.raw(p)
		f.huff.Reuse = huff0.ReusePolicyNone // the reader has no table, or an older one
		return
	}
	f.huff.Reuse = huff0.ReusePolicyAllow
	table := uint64(newTable)
	if again {
		table = lastTable
	}
	if len(p) < oneStream { // sizes of 10 bits
		head := table | uint64(len(p))<<4 | uint64(len(packed))<<14
		f.block(compressedBlock, 3+len(packed)+1)
		f.out = append(f.out, byte(head), byte(head>>8), byte(head>>16))
	} else { // of 18 bits
		head := table | 3<<2 | uint64(len(p))<<4 | uint64(len(packed))<<22
		f.block(compressedBlock, 5+len(packed)+1)
		f.out = append(f.out, byte(head), byte(head>>8), byte(head>>16), byte(head>>24), byte(head>>32))
	}
	f.out = append(append(f.out, packed...), 0) // no sequences
}

// raw adds bytes as they are.
func (f *frame) raw(p []byte) {
	f.block(rawBlock, len(p))
	f.out = append(f.out, p...)
}

// worthBits is the entropy of a byte above which packing saves too little.
const worthBits = 6.5

// bitsOf returns about the entropy of bytes, from a sample of them.
func bitsOf(p []byte) float32 {
	var counts [256]uint16
	step := len(p)/sampleSize | 1 // odd, for values of several bytes
	n := 0
	for i := 0; i < len(p) && n < sampleSize; i += step {
		counts[p[i]]++
		n++
	}
	bits := nLogN[n]
	for _, c := range counts {
		bits -= nLogN[c]
	}
	return bits / float32(n)
}

// nLogN has n times its logarithm to the base 2.
var nLogN = func() (out [sampleSize + 1]float32) {
	for n := 2; n < len(out); n++ {
		out[n] = float32(float64(n) * math.Log2(float64(n)))
	}
	return out
}()
