package parquet

import "bytes"

// dictionary is the distinct strings of a chunk, in the order of their first occurrence.
type dictionary struct {
	places map[string]int32
	text   []byte
	ends   []uint32 // of each string in text, after a first 0
	index  []int32
}

func (d *dictionary) reset() {
	clear(d.places) // the next row group has about as many
	d.text, d.ends = d.text[:0], append(d.ends[:0], 0)
}

// indexes looks up the buffered strings, and adds new ones.
func (d *dictionary) indexes(g *columnBuffer) []int32 {
	if d.places == nil {
		d.places = map[string]int32{}
	}
	d.index = d.index[:0]
	var last []byte
	at, known := int32(0), false
	for i := range g.present {
		s := g.text[g.offsets[i]:g.offsets[i+1]]
		if known && bytes.Equal(s, last) { // adjacent values are often equal
			d.index = append(d.index, at)
			continue
		}
		last = s
		if at, known = d.places[string(s)]; !known {
			at = int32(len(d.places))
			d.places[string(s)] = at
			d.text = append(d.text, s...)
			d.ends = append(d.ends, uint32(len(d.text)))
			known = true
		}
		d.index = append(d.index, at)
	}
	return d.index
}

const (
	// These bound a row group; an example group that exceeds one of them has a row
	// group of its own. With heavyBytes, all pages of a row lie near one another:
	// in an object store they are one or two ranges, and the gaps between them
	// are a few MB. A row group of light rows ends at rowGroupRows long before.
	rowGroupRows  = 4096
	rowGroupBytes = 64 << 20 // uncompressed
	copyBytes     = 16 << 20 // uncompressed, of copied rows: they become about heavyBytes
	tokenBytes    = 16 << 20 // of lists of tokens that are not heavy, compressed: sequences of any length

	joinPage  = 4 << 10 // heavy pages of example groups below this are joined
	splitPage = 8 << 20 // heavy pages of an example group above this are split between rows
	pageBytes = 1 << 20 // of a light page

	maxBound = 64 // longer strings are not recorded as bounds
)
